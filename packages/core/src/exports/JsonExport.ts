import { Stream } from "effect"
import { exportVersion } from "./ExportsApi.js"
import type { Part, SessionParts } from "./SessionParts.js"

/** A session as the text of a `SessionExport`, in pieces. */
export const writeJson = ({ session, usage, ...parts }: SessionParts): Part<string> =>
  [
    listText("turns", parts.turns),
    listText("messages", parts.messages),
    listText("tools", parts.tools),
    listText("interactions", parts.interactions),
    listText("changesets", parts.changesets),
    Stream.succeed("}\n")
  ].reduce<Part<string>>(
    (before, after) => Stream.concat(before, after),
    Stream.succeed(
      `{"format":"reins.session","version":${exportVersion},"session":${JSON.stringify(session)},"usage":${JSON.stringify(usage)}`
    )
  )

const listText = (name: string, items: Part<unknown>): Part<string> =>
  Stream.succeed(`,"${name}":[`).pipe(
    Stream.concat(
      Stream.zipWithIndex(items).pipe(Stream.map(([item, at]) => `${at === 0 ? "" : ","}\n${JSON.stringify(item)}`))
    ),
    Stream.concat(Stream.succeed("]"))
  )
