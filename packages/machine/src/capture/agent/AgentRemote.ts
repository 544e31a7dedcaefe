import { repositoryPlace } from "@reins/base/domain/RepositoryUrl"
import { Effect } from "effect"
import { type BeneathError, replaceFile } from "../../files/Beneath.js"
import { quoteConfig } from "../../repository/run/ConfigText.js"
import { GitError } from "../../repository/run/GitError.js"
import { inAgentGit, readPart } from "./AgentGit.js"

// Changes the URL of `origin` in the repository of an agent, as text: git would obey what else stands there.

/** The workspace of an agent, and the URL that its remote had and shall have. */
export interface FollowRequest {
  readonly workTree: string
  readonly from: string
  readonly to: string
}

const maxConfigBytes = 1024 * 1024

/** The URL as a clone writes it: without a name in it. */
const writtenUrl = (url: string): string => {
  const place = repositoryPlace(url)
  return place?.kind === "web" ? place.url.href : url
}

/** The settings with the other URL; null where `origin` has none of the URLs that a clone would have written. */
const withUrl = (config: string, from: string, to: string): string | null => {
  const known = [from, writtenUrl(from)].flatMap((url) => [url, quoteConfig(url)])
  let isOrigin = false
  let changes = 0
  const lines = config.split("\n").map((line) => {
    if (/^\s*\[/.test(line)) isOrigin = /^\s*\[remote "origin"\]\s*$/.test(line)
    const at = line.indexOf("=") + 1
    const isUrl =
      line
        .slice(0, Math.max(at - 1, 0))
        .trim()
        .toLowerCase() === "url"
    const value = line.slice(at).trim()
    if (!isOrigin || !isUrl || !known.includes(value)) return line
    changes += 1
    return `${line.slice(0, line.indexOf(value, at))}${quoteConfig(writtenUrl(to))}`
  })
  return changes === 0 ? null : lines.join("\n")
}

/** See `Git.followRemote`. */
export const followRemote = ({ from, to, workTree }: FollowRequest): Effect.Effect<boolean, GitError> =>
  inAgentGit(workTree, [], (directory) =>
    Effect.gen(function* () {
      const bytes = yield* readPart(directory, "config", maxConfigBytes)
      const text = bytes === null || bytes.length === maxConfigBytes ? null : bytes.toString("latin1")
      const latin1 = (url: string) => Buffer.from(url).toString("latin1")
      const changed = text === null ? null : withUrl(text, latin1(from), latin1(to))
      if (changed === null) return false
      yield* replaceFile(directory, "config", Buffer.from(changed, "latin1"), { mode: 0o644, exclusive: false })
      return true
    })
  ).pipe(
    Effect.map((changed) => changed === true),
    Effect.mapError(notChanged)
  )

const notChanged = ({ reason }: BeneathError): GitError =>
  new GitError({
    kind: "internal",
    message: `The URL in the agent's own repository could not be changed (${reason}): run \`git remote set-url origin\` in the session.`
  })
