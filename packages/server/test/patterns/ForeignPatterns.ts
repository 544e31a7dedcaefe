import { clientNetwork } from "@reins/base/base/ClientNetwork"
import { bounded, foreignName, hasInOrder } from "@reins/base/base/ForeignText"
import { foreignWords } from "@reins/base/base/ForeignWords"
import { fitsName, fitsPath } from "@reins/base/base/Globs"
import { blankInMessage, blankKeys, blankTokens, blankUsers } from "@reins/base/base/Masks"
import { withoutMentions } from "@reins/core/care/ReplyJob"
import { lastFence } from "@reins/core/execution/run/Fence"
import {
  contextUnavailable,
  heard,
  isBare,
  notStarted,
  type Reporting,
  reported,
  rpcText
} from "@reins/machine/harness/acp/Failures"
import { protocolOf } from "@reins/machine/relay/gateway/ModelCall"
import {
  httpStatusOf,
  refusalBy,
  refusalByAny,
  rejectionBy,
  wordsOfRemote
} from "@reins/machine/repository/remote/Refusals"
import { failureAt } from "@reins/machine/repository/remote/RemoteCall"
import { classify, reasonLine, scrub } from "@reins/machine/repository/run/GitError"
import { takesGzip } from "@reins/server/http/CachedFile"
import { clientAddressBehind } from "@reins/server/http/ClientAddress"

/** A function that looks for patterns in a text of others. */
export interface ForeignPattern {
  readonly look: (text: string) => unknown
}

const behindProxy = clientAddressBehind(["127.0.0.1"])

/** An agent without rules of its own, with as much as the sentences about it need. */
const agent = {
  input: { manifest: { credential: null }, connection: null },
  runtime: { agent: { name: "Agent" } },
  settings: { errors: [] }
} as unknown as Reporting

const remote = { url: "https://git.example/a.git", env: {}, secrets: [], isKnown: true, refused: () => undefined }

const all = (text: string) => bounded(text, text.length)

/** Every function that looks for patterns in texts of others, by its name. A new one joins. */
export const foreignPatterns: Readonly<Record<string, ForeignPattern>> = {
  blankInMessage: { look: (text) => blankInMessage(text, "***") },
  blankKeys: { look: (text) => blankKeys(text, "***") },
  blankTokens: { look: (text) => blankTokens(text, "***") },
  blankUsers: { look: (text) => blankUsers(text, "***") },
  classify: { look: (text) => classify("push", all(text)) },
  clientAddressBehind: { look: (text) => behindProxy("127.0.0.1", { forwarded: text }) },
  clientNetwork: { look: clientNetwork },
  contextUnavailable: { look: (text) => contextUnavailable(agent.runtime, heard(text)) },
  failureAt: { look: (text) => failureAt(remote, "push", all(text)) },
  fitsName: { look: (text) => ["*a*a*a*a*a*a*a*a*b", "?*?a*?b", text].map((pattern) => fitsName(pattern, text)) },
  fitsPath: { look: fitsPath("**/a/**/*a*/**a**b") },
  foreignName: { look: (text) => foreignName(text, text.length) },
  foreignWords: { look: (text) => foreignWords(text, 2_000) },
  hasInOrder: { look: (text) => hasInOrder(all(text), ["a", "b", "://", "]"]) },
  heard: { look: heard },
  httpStatusOf: { look: (text) => httpStatusOf(all(text)) },
  isBare: { look: (text) => isBare(heard(text)) },
  lastFence: { look: lastFence },
  notStarted: { look: (text) => notStarted(heard(text), heard(text), agent) },
  protocolOf: { look: (text) => protocolOf("POST", text) },
  reasonLine: { look: (text) => reasonLine(all(text)) },
  refusalBy: { look: (text) => refusalBy(all(text), true) },
  refusalByAny: { look: (text) => refusalByAny(all(text), true) },
  rejectionBy: { look: (text) => rejectionBy(text, all(text), true) },
  reported: { look: (text) => reported(heard(text), agent) },
  rpcText: { look: (text) => rpcText({ code: 1, message: text, data: text } as Parameters<typeof rpcText>[0]) },
  scrub: { look: (text) => scrub(text, ["s3cr3t"]) },
  takesGzip: { look: takesGzip },
  withoutMentions: { look: withoutMentions },
  wordsOfRemote: { look: (text) => wordsOfRemote(all(text)) }
}

/** Texts that begin many patterns and end none. They are repeated. */
export const hostileUnits: ReadonlyArray<string> = [
  "a",
  "a.",
  "a/",
  " ",
  "\n",
  "eyJ-",
  "eyJa.",
  "eyJaaaaaaaa.eyJaaaaaaaa.",
  "a+b-://",
  "https://",
  "a@",
  "gl-",
  "sk-",
  "glpat-",
  "-----BEGIN PRIVATE KEY",
  "-----BEGIN PRIVATE KEY-----",
  "-----END ",
  "repository ",
  "transport permission to ",
  "exceed",
  "exceeds the a a ",
  "remote: fatal: ",
  "\r\nremote: ",
  "returned error: ",
  "```json\n",
  "```json\n\n",
  '"\\',
  '"',
  "for=",
  ";for = ",
  "gzip ",
  ", ;q=0",
  "\t[a] (",
  "\u001b[0;",
  "could not open directory '",
  "authorization:",
  "?%",
  "名"
]
