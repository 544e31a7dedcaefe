import { foreignName } from "@reins/base/base/ForeignText"
import type { MergeMethod } from "@reins/base/domain/MergeMethod"
import { Data, Effect, ParseResult, Schema } from "effect"
import type { BranchRules, RepositoryAccess } from "./BranchRules.js"
import type { CheckLog, CheckRun, LogEnd, PostedComment } from "./CheckRun.js"
import type { ForgeCall, ForgeErrorKind, ForgeLimit, RemoteMergeRequest } from "./ForgeCalls.js"
import { type ForgeRefusalKind, forgeErrorKinds } from "./ForgeRefusalKinds.js"
import type { ForgeRefusals } from "./ForgeRefusals.js"
import type { ForgeView, ViewMemory } from "./ForgeView.js"

/** The branch with the change, and the branch that the change goes into. Both belong to the same repository. */
export interface Branches {
  /** The name without `refs/heads/`. */
  readonly head: string
  /** The name without `refs/heads/`. */
  readonly base: string
}

/** A merge request to open. */
export interface MergeRequestToOpen extends Branches {
  /** One line. */
  readonly title: string
  /** Markdown; may be empty. */
  readonly description: string
  /** True for a draft, which the forge merges for nobody. */
  readonly draft: boolean
}

/** A forge did not do what it was asked for. */
export class ForgeError extends Data.TaggedError("ForgeError")<{
  /** The reason. */
  readonly kind: ForgeErrorKind
  /** Says to a person what the forge said, shortened and without a secret, and what to do next. */
  readonly message: string
  /** Set when a change was requested and no answer tells its result. */
  readonly mayHaveHappened?: true
  /** The milliseconds after which the forge wants to be asked again, where it says so. */
  readonly retryAfterMs?: number
}> {}

/** The failure of a change that the forge may have made without answering. */
export const unproven = (error: ForgeError): ForgeError =>
  error.kind === "unavailable"
    ? new ForgeError({
        kind: error.kind,
        message: `${error.message} The request may have taken effect.`,
        mayHaveHappened: true
      })
    : error

/** An answer, or word that it is as it was. */
export interface MarkedAnswer {
  /** Undefined when it has the mark that was given. */
  readonly answer: { readonly body: unknown } | undefined
  /** An ETag of the forge, or else a digest of the answer. */
  readonly mark: string
  /** Whether the forge has a page after this one; undefined where it does not tell. */
  readonly hasNext: boolean | undefined
  /** The budget of the token; undefined where the forge tells none. */
  readonly limit: ForgeLimit | undefined
}

/**
 * Sends a request with the token of the connection. Gives back an answer below 400 as JSON, or undefined when it has no body. An answer that
 * only the client of a forge can read is a `Refusal`; every other failure is a `ForgeError` already.
 */
export interface Ask {
  /** Gives the body of the answer. */
  (call: ForgeCall): Effect.Effect<unknown, ForgeError | Refusal>
  /** The same for a read whose answer may be known by its mark. */
  readonly marked: (call: ForgeCall, known: string | undefined) => Effect.Effect<MarkedAnswer, ForgeError | Refusal>
  /**
   * The end of an answer that is text of any length, at most 256 KiB. One redirect to another host is followed, without any header of ours.
   */
  readonly text: (call: ForgeCall) => Effect.Effect<LogEnd, ForgeError | Refusal>
}

/** A refusal of 300 or above that is not about the credential, a limit or the health of the forge. */
export class Refusal extends Data.TaggedError("Refusal")<{
  /** 300 and above. */
  readonly status: number
  /** The meaning of the refusal, by the table of the forge. */
  readonly kind: ForgeRefusalKind
  /** Says what happened and what to do next, after the name of the forge. */
  readonly say: string
  /** The milliseconds after which the forge wants to be asked again, where that is known. */
  readonly retryAfterMs?: number
  /** The words of the forge with their fields and codes, on one line of at most 1,000 characters, without the token. */
  readonly said: string
}> {}

/** A refusal in a sentence: its status, and the words of the forge. */
export const refusedWith = ({ said, status }: Refusal): string =>
  said === "" ? `HTTP ${status}, without a word about the reason` : `HTTP ${status}: ${said}`

/** A refusal as an error, in the words of its table and those of the forge. */
export const refusedBy = (name: string, refusal: Refusal): ForgeError =>
  new ForgeError({
    kind: forgeErrorKinds[refusal.kind],
    message: `${name} ${refusal.say} (${refusedWith(refusal)})`,
    ...(refusal.retryAfterMs !== undefined && { retryAfterMs: refusal.retryAfterMs })
  })

const longestPath = 100

/** Decodes an answer of the forge. An answer of another shape is `unavailable`, and the message names the field. */
export const decodeAnswer =
  <A, I>(schema: Schema.Schema<A, I>) =>
  (answer: unknown): Effect.Effect<A, ForgeError> =>
    Effect.mapError(Schema.decodeUnknown(schema)(answer), (error) => {
      const path = ParseResult.ArrayFormatter.formatErrorSync(error)[0]?.path.join(".") ?? ""
      const field = path === "" ? "" : ` (field ${JSON.stringify(foreignName(path, longestPath))})`
      return new ForgeError({
        kind: "unavailable",
        message: `The forge answers in a form that is not known${field}, so nothing is taken from it.`
      })
    })

/** The acts on a forge around a merge request. */
export interface ForgeActs {
  /** The log of a run; undefined for a check that can have none. One that the forge does not show is empty, with the reason. */
  readonly log: (check: CheckRun) => Effect.Effect<CheckLog | undefined, ForgeError>
  /** Begins a run anew. False when the forge cannot. */
  readonly rerun: (check: CheckRun) => Effect.Effect<boolean, ForgeError>
  /**
   * Writes a comment on a merge request. With the `forgeId` of a thread it answers there. Where the forge has no thread for it, it joins the talk. A
   * text is never a command of the forge.
   */
  readonly reply: (number: number, text: string, thread?: string) => Effect.Effect<PostedComment, ForgeError>
  /**
   * The comment of `reply` that holds a mark; undefined for none. Fails when the forge does not show all the comments, because one that
   * cannot be read may be there.
   */
  readonly posted: (
    number: number,
    mark: string,
    thread?: string
  ) => Effect.Effect<PostedComment | undefined, ForgeError>
  /** Marks a merge request as a draft, or as ready for review. Succeeds once the forge says that it is so. */
  readonly setDraft: (number: number, draft: boolean) => Effect.Effect<void, ForgeError>
}

/** One repository on a forge, with a token. A forge asks its own host only. Redirects are followed below the root of its API. */
export interface Forge extends ForgeActs {
  /** The open merge request of the two branches, or undefined when there is none. */
  readonly find: (branches: Branches) => Effect.Effect<RemoteMergeRequest | undefined, ForgeError>
  /** Fails with `exists` when the forge reports that there may be one already. Look for it again then. */
  readonly create: (request: MergeRequestToOpen) => Effect.Effect<RemoteMergeRequest, ForgeError>
  /** Fails with `not_found` for a number that the forge does not have. */
  readonly get: (number: number) => Effect.Effect<RemoteMergeRequest, ForgeError>
  /**
   * Reads the merge request with its checks, reviews and threads. With the memory of the view before, it reads the answers that differ alone. A part
   * that the forge refuses is `unread`. Fails when the merge request itself cannot be read, the token is not taken, or the forge wants a pause.
   */
  readonly view: (number: number, memory: ViewMemory) => Effect.Effect<ForgeView, ForgeError>
  /** Merges when the head is exactly `expectedHead`, else fails with `remote_head_changed`. */
  readonly merge: (
    number: number,
    request: { readonly expectedHead: string; readonly method: MergeMethod }
  ) => Effect.Effect<void, ForgeError>
  /** The demands of the forge on a merge into a branch, as far as it shows them to the token. */
  readonly rules: (base: string) => Effect.Effect<BranchRules, ForgeError>
  /** The right of an account on the repository; null where the forge does not show it to the token. */
  readonly access: (login: string) => Effect.Effect<RepositoryAccess | null, ForgeError>
  /** Removes a branch that still stands at a commit. One that is gone, is protected or has moved is left alone. */
  readonly removeBranch: (branch: string, head: string) => Effect.Effect<void, ForgeError>
}

/** The occasions on which a forge calls a hook. Each forge has names of its own for them. */
export const hookOccasions = ["push", "issues", "comments", "merge_requests", "checks"] as const
/** One of these occasions. */
export type HookOccasion = (typeof hookOccasions)[number]

/** A hook of a repository, as it is to be on the forge. */
export interface ForgeHook {
  /** The address that the forge calls. */
  readonly url: string
  /** The secret that the forge signs with, or sends. It is in the clear. */
  readonly secret: string
  /** The occasions on which the forge calls. */
  readonly occasions: ReadonlyArray<HookOccasion>
}

/** The hooks of one repository on a forge. */
export interface ForgeHooks {
  /** The id of the hook that calls a URL; undefined for none. */
  readonly find: (url: string) => Effect.Effect<string | undefined, ForgeError>
  /** Makes a hook, and gives its id. */
  readonly create: (hook: ForgeHook) => Effect.Effect<string, ForgeError>
  /** Replaces what a hook has, its secret too. */
  readonly update: (id: string, hook: ForgeHook) => Effect.Effect<void, ForgeError>
  /** Removes a hook. One that is not there is removed already. */
  readonly remove: (id: string) => Effect.Effect<void, ForgeError>
}

/** The abilities that some forges lack. `rerun` begins a run of a check anew, and `readiness` makes a merge request a draft or ready. */
export type ForgeAbility = "rerun" | "readiness"

/** The web address of a forge, which the URLs of its repositories have, and the root of its API without a trailing slash. */
export interface ForgeAddress {
  /** Its path is that of the forge on its host. */
  readonly web: URL
  /** The root of the API, such as `https://git.example/api/v1`. */
  readonly api: string
}

/**
 * A kind of forge, as a plain value. It holds everything that is particular to the product. Each kind is also a kind of connection of the same
 * name, with a token and an optional `base_url`.
 */
export interface ForgeKind {
  /** The name that the API and the database use. It never changes. */
  readonly kind: string
  /** The web address for a connection that names none. */
  readonly defaultUrl: string
  /** The path of its API below the web address, as in `/api/v1`. */
  readonly apiPath: string
  /** The address of the API, for hosts where the forge has it elsewhere. Undefined for every other host. */
  readonly addressOf?: (given: URL) => ForgeAddress | undefined
  /** The abilities of the forge that others lack. */
  readonly can: ReadonlySet<ForgeAbility>
  /** The ways to merge that the forge offers. */
  readonly mergeMethods: ReadonlySet<MergeMethod>
  /** True when a repository may lie in nested groups. Otherwise its path is `owner/name`. */
  readonly nestsGroups: boolean
  /** The kind of connection to an app of the forge, whose key makes tokens. Absent for a forge without such apps. */
  readonly appKind?: string
  /** The headers that carry the token. They are sent with every request. */
  readonly headers: (token: string) => Readonly<Record<string, string>>
  /**
   * The private address for commits that the forge gives to the user of a token. It comes from the answer of `userPath` and the host of the forge.
   * Undefined where the answer does not tell. Absent for a forge whose operator chooses the form.
   */
  readonly privateEmail?: (user: Readonly<Record<string, unknown>>, host: string) => string | undefined
  /** The path below the API that gives the user of the token. It serves to try a token out. */
  readonly userPath: string
  /** Loads the refusals of the forge, which others do not have, or have in other words. */
  readonly refusals?: () => Promise<ForgeRefusals>
  /** The client for the hooks of one repository. Absent for a forge whose hooks people make by hand. */
  readonly openHooks?: (ask: Ask, repository: string) => ForgeHooks
  /** The name of the user in that answer. */
  readonly loginField: "login" | "username"
  /** The client for one repository, by its path on the forge. `ask` sends the token and knows the meaning of each refusal. */
  readonly open: (ask: Ask, repository: string) => Forge
}
