import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.UUID;

import org.apache.paimon.append.AppendCompactCoordinator;
import org.apache.paimon.append.AppendCompactTask;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.index.BucketAssigner;
import org.apache.paimon.index.HashBucketAssigner;
import org.apache.paimon.manifest.BucketEntry;
import org.apache.paimon.options.ExpireConfig;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.table.AppendOnlyFileStoreTable;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.RowKeyExtractor;
import org.apache.paimon.table.sink.TableWriteImpl;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.RowKind;

/** Creates one table and takes the steps that kinds.json lists for it. */
final class TableWriter {
    private final Catalog catalog;
    private final Identifier identifier;
    private final JsonNode kind;
    private int written = 0;

    TableWriter(Catalog catalog, Identifier identifier, JsonNode kind) {
        this.catalog = catalog;
        this.identifier = identifier;
        this.kind = kind;
    }

    /** The number of changes written. */
    int write() throws Exception {
        catalog.createDatabase(identifier.getDatabaseName(), true);
        catalog.createTable(identifier, schema(kind.get("schema")), false);
        for (JsonNode step : kind.get("steps")) {
            take(step);
        }
        return written;
    }

    private static Schema schema(JsonNode schema) {
        Schema.Builder builder = Schema.newBuilder();
        for (JsonNode column : schema.get("columns")) {
            DataType type = TypeText.parse(column.get("type").textValue());
            boolean nullable = !column.has("nullable") || column.get("nullable").booleanValue();
            builder.column(column.get("name").textValue(), type.copy(nullable));
        }
        builder.primaryKey(names(schema.get("primary_key")));
        builder.partitionKeys(names(schema.get("partition_keys")));
        builder.options(Driver.texts(schema.get("options")));
        return builder.build();
    }

    private static List<String> names(JsonNode array) {
        List<String> names = new ArrayList<>();
        if (array != null) {
            array.forEach(name -> names.add(name.textValue()));
        }
        return names;
    }

    private FileStoreTable table(JsonNode step) throws Exception {
        FileStoreTable table = (FileStoreTable) catalog.getTable(identifier);
        return step.has("on_branch") ? table.switchToBranch(step.get("on_branch").textValue()) : table;
    }

    private void take(JsonNode step) throws Exception {
        FileStoreTable table = table(step);
        String what = step.fieldNames().next();
        JsonNode argument = step.get(what);
        switch (what) {
            case "write":
                commit(table, table.newBatchWriteBuilder(), argument);
                break;
            case "overwrite":
                overwrite(table, argument, step.get("partition"));
                break;
            case "compact":
                compact(table);
                break;
            case "alter":
                List<SchemaChange> changes = new ArrayList<>();
                argument.forEach(change -> changes.add(change(change)));
                catalog.alterTable(identifier, changes, false);
                break;
            case "tag":
                table.createTag(argument.textValue(), table.snapshotManager().latestSnapshotId());
                break;
            case "branch":
                if (step.has("from_tag")) {
                    table.createBranch(argument.textValue(), step.get("from_tag").textValue());
                } else {
                    table.createBranch(argument.textValue());
                }
                break;
            case "fast_forward":
                table.fastForward(argument.textValue());
                break;
            case "rollback":
                table.rollbackTo(argument.textValue());
                break;
            case "expire":
                int retained = argument.get("retain_max").intValue();
                table.newExpireSnapshots()
                        .config(ExpireConfig.builder()
                                .snapshotRetainMax(retained)
                                .snapshotRetainMin(1)
                                .snapshotTimeRetain(Duration.ZERO)
                                .build())
                        .expire();
                break;
            case "truncate":
                try (BatchTableCommit commit = table.newBatchWriteBuilder().newCommit()) {
                    commit.truncateTable();
                }
                break;
            case "drop_partition":
                try (BatchTableCommit commit = table.newBatchWriteBuilder().newCommit()) {
                    commit.truncatePartitions(Collections.singletonList(Driver.texts(argument)));
                }
                break;
            default:
                throw new UnsupportedOperationException("the step `" + what + "`");
        }
    }

    /** Static where the partition is named, dynamic where it is null. */
    private void overwrite(FileStoreTable table, JsonNode changes, JsonNode partition) throws Exception {
        boolean dynamic = partition == null || partition.isNull();
        FileStoreTable overwritten = table.copy(
                Collections.singletonMap("dynamic-partition-overwrite", Boolean.toString(dynamic)));
        Map<String, String> values = dynamic ? Collections.emptyMap() : Driver.texts(partition);
        commit(overwritten, overwritten.newBatchWriteBuilder().withOverwrite(values), changes);
    }

    private void commit(FileStoreTable table, BatchWriteBuilder builder, JsonNode changes) throws Exception {
        try (IOManager io = IOManager.create(System.getProperty("java.io.tmpdir"));
                BatchTableWrite write = builder.newWrite();
                BatchTableCommit commit = builder.newCommit()) {
            write.withIOManager(io);
            BucketAssigner assigner = table.bucketMode() == BucketMode.HASH_DYNAMIC ? assigner(table) : null;
            RowKeyExtractor keys = assigner == null ? null : table.createRowKeyExtractor();
            for (JsonNode change : changes) {
                GenericRow row = Cells.row(table.rowType(), change.get("row"));
                row.setRowKind(RowKind.fromShortString(change.get("kind").textValue()));
                if (assigner == null) {
                    write.write(row);
                } else {
                    keys.setRecord(row);
                    write.write(row, assigner.assign(keys.partition(), keys.trimmedPrimaryKey().hashCode()));
                }
                written++;
            }
            commit.commit(write.prepareCommit());
        }
    }

    private static BucketAssigner assigner(FileStoreTable table) {
        long target = table.coreOptions().dynamicBucketTargetRowNum();
        return new HashBucketAssigner(
                table.snapshotManager(),
                UUID.randomUUID().toString(),
                table.store().newIndexFileHandler(),
                1,
                1,
                0,
                target,
                table.coreOptions().dynamicBucketMaxBuckets());
    }

    /** Rewrites every bucket; a table without buckets is compacted by the tasks that its coordinator finds. */
    private static void compact(FileStoreTable table) throws Exception {
        BatchWriteBuilder builder = table.newBatchWriteBuilder();
        try (IOManager io = IOManager.create(System.getProperty("java.io.tmpdir"));
                TableWriteImpl<?> write = (TableWriteImpl<?>) builder.newWrite();
                BatchTableCommit commit = builder.newCommit()) {
            write.withIOManager(io);
            List<CommitMessage> messages = new ArrayList<>();
            if (table.bucketMode() == BucketMode.BUCKET_UNAWARE) {
                AppendOnlyFileStoreTable unbucketed = (AppendOnlyFileStoreTable) table;
                AppendCompactCoordinator coordinator = new AppendCompactCoordinator(table, false);
                for (AppendCompactTask task : coordinator.run()) {
                    messages.add(task.doCompact(table, unbucketed.store().newWrite(UUID.randomUUID().toString())));
                }
            } else {
                for (BucketEntry entry : table.newSnapshotReader().bucketEntries()) {
                    write.compact(entry.partition(), entry.bucket(), true);
                }
                messages.addAll(write.prepareCommit());
            }
            commit.commit(messages);
        }
    }

    /** A change as the adapter protocol spells it, with types and positions in addition. */
    private static SchemaChange change(JsonNode change) {
        String what = change.fieldNames().next();
        JsonNode argument = change.get(what);
        switch (what) {
            case "add":
                String added = argument.get("name").textValue();
                return SchemaChange.addColumn(
                        added, TypeText.parse(argument.get("type").textValue()), null, move(added, argument));
            case "drop":
                return SchemaChange.dropColumn(argument.textValue());
            case "rename":
                return SchemaChange.renameColumn(
                        argument.get("from").textValue(), argument.get("to").textValue());
            case "set_type":
                return SchemaChange.updateColumnType(
                        argument.get("column").textValue(),
                        TypeText.parse(argument.get("type").textValue()),
                        true);
            case "move":
                return SchemaChange.updateColumnPosition(
                        move(argument.get("column").textValue(), argument));
            case "set_option":
                return SchemaChange.setOption(
                        argument.get("key").textValue(), argument.get("value").textValue());
            default:
                throw new UnsupportedOperationException("the schema change `" + what + "`");
        }
    }

    private static SchemaChange.Move move(String column, JsonNode argument) {
        if (argument.has("after")) {
            return SchemaChange.Move.after(column, argument.get("after").textValue());
        }
        boolean first = argument.has("position") && argument.get("position").textValue().equals("first");
        return first ? SchemaChange.Move.first(column) : null;
    }
}
