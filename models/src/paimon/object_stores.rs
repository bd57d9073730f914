//! Two object stores: one in memory for simulation, one on a directory for export and inspection.
