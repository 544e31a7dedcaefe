/** The obstacles that the caller of a delivery has allowed, as a list in JSON. Null allows none. */
export const allowedObstacles: ReadonlyArray<string> = ["alter table deliveries add column allowed text"]
