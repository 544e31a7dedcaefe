import { readJson } from "@reins/base/base/ForeignJson"
import { foreignName } from "@reins/base/base/ForeignText"
import type { Manifest, PinnedPackage } from "@reins/machine/harness/Manifest"
import type { Outbound, OutboundAnswer } from "@reins/machine/outbound/Outbound"
import { Data, Effect, Option, Schema } from "effect"

/** The registry does not say which version of a package is the newest. */
export class NewestUnknown extends Data.TaggedError("NewestUnknown")<{
  /** Says why, for a person. */
  readonly message: string
}> {}

const limits = { maxBytes: 1024 * 1024, timeoutMs: 10_000 }
const longestVersion = 100

const Tags = readJson(Schema.Struct({ latest: Schema.String }))
const Package = readJson(Schema.Struct({ version: Schema.String }))

/**
 * The packages that say how new an agent is: its own, and those that are named like it, as the program that an adapter starts. What they need besides is
 * pinned with them.
 */
export const followedPackages = ({ display_name, runtime }: Manifest): ReadonlyArray<PinnedPackage> => {
  if (runtime === null) return []
  const { agent, install } = runtime
  const [platform] = install.platforms
  const all = [...install.packages, ...(platform?.packages ?? [])]
  const [word = ""] = display_name.toLowerCase().split(/[^a-z0-9]+/)
  const isNamedLikeIt = ({ name }: PinnedPackage) => word !== "" && (name.split("/").at(-1) ?? "").startsWith(word)
  const own = all.find(({ version }) => version === agent.version)
  const others = install.packages.filter((each) => each.name !== own?.name && isNamedLikeIt(each))
  return own === undefined ? others : [own, ...others]
}

/** The version of a package that its registry calls the latest. */
export const newestVersion = (
  outbound: Outbound["Type"],
  registry: string,
  name: string
): Effect.Effect<string, NewestUnknown> => {
  const base = registry.replace(/(?<!\/)\/+$/, "")
  const path = name.replace("/", "%2f")
  const { host } = new URL(base)
  const ask = (url: string) =>
    Effect.mapError(
      outbound.fetch(url, { headers: { accept: "application/json" } }, limits),
      ({ message }) => new NewestUnknown({ message })
    )
  const versionIn = ({ body, status }: OutboundAnswer): Effect.Effect<string, NewestUnknown> => {
    const told = Option.orElse(
      Option.map(Tags(body), ({ latest }) => latest),
      () => Option.map(Package(body), ({ version }) => version)
    )
    if (status !== 200) return new NewestUnknown({ message: `${host} answered ${status}.` })
    return Option.match(told, {
      onNone: () => new NewestUnknown({ message: `${host} names no latest version.` }),
      onSome: (version) => Effect.succeed(foreignName(version, longestVersion))
    })
  }
  return Effect.flatMap(ask(`${base}/-/package/${path}/dist-tags`), (answer) =>
    // Some registries know no list of tags.
    answer.status === 404 || answer.status === 405
      ? Effect.flatMap(ask(`${base}/${path}/latest`), versionIn)
      : versionIn(answer)
  )
}

/** Below 0 for an older version, above 0 for a newer one; undefined where one of them is no version of npm. */
export const compareVersions = (one: string, other: string): number | undefined => {
  const [left, right] = [partsOf(one), partsOf(other)]
  if (left === undefined || right === undefined) return undefined
  for (const [index, number] of left.numbers.entries()) {
    const difference = number - (right.numbers[index] ?? 0)
    if (difference !== 0) return difference
  }
  // One without a word behind it is the release, and comes after those with one.
  if ((left.rest === "") !== (right.rest === "")) return left.rest === "" ? 1 : -1
  return left.rest.localeCompare(right.rest, "en", { numeric: true })
}

const partsOf = (version: string) => {
  const [, major, minor, patch, rest = ""] =
    /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z.-]{1,80}))?(?:\+\S*)?$/.exec(version) ?? []
  return major === undefined ? undefined : { numbers: [Number(major), Number(minor), Number(patch)], rest }
}
