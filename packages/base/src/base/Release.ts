import packageJson from "../../../core/package.json" with { type: "json" }

/** The release that this is, such as `1.2.3`. */
export const release: string = packageJson.version

/** The number of a release. A pre-release has what its release will have, so what stands behind a hyphen does not count. */
export const numberOf = (name: string): string => name.split("-")[0] ?? name

/** True when one release came before the other. */
export const isOlder = (one: string, other: string): boolean => {
  const [ones, others] = [one, other].map((name) => numberOf(name).split(".").map(Number))
  const differing = ones?.findIndex((part, index) => part !== others?.[index]) ?? -1
  return differing >= 0 && (ones?.[differing] ?? 0) < (others?.[differing] ?? 0)
}
