//! The client's planted bug is there when asked for.

use super::fixture::World;
use models::defects::Defect;

#[tokio::test(start_paused = true)]
async fn rt_cached_misses_acked_writes_between_refreshes() {
    let world = World::with(&[Defect::RtCached]);
    world.key_table().await;
    let mut missed = 0;
    for id in 0..10 {
        world.insert(&[(id, 0)]).await.unwrap();
        missed += usize::from(!world.select("db.t$rt").await.contains(&(id, 0)));
    }
    assert_eq!(missed, 8, "one read in five is fresh");
}
