/** What stands in the way of a branch, and the caller of a delivery has allowed, as a list in JSON. Null allows nothing. */
export const allowedObstacles: ReadonlyArray<string> = ["alter table deliveries add column allowed text"]
