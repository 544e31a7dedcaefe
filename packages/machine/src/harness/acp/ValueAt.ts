/** The value at a path within another value; undefined where the path leads nowhere. */
export const valueAt = (value: unknown, path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>(
    (at, key) => (typeof at === "object" && at !== null && key in at ? Reflect.get(at, key) : undefined),
    value
  )
