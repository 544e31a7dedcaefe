import { shortened } from "../base/CutText.js"
import { foreignWords } from "../base/ForeignWords.js"
import { GitError, type GitErrorKind } from "./GitError.js"

// Reads what a remote says when it refuses. The patterns are of texts that GitHub, GitLab, Gitea, Forgejo, Bitbucket, Azure DevOps and git itself send.

/** The most words of a remote that a message repeats, in characters. */
const maxSaid = 2_000

const progress =
  /^(?:(?:resolving deltas|compressing objects|counting objects|enumerating objects|writing objects|checking connectivity|processing changes)\b|total \d)/i

const isWords = (line: string): boolean => /[\p{L}\p{N}]/u.test(line) && !progress.test(line)

/** The lines of the remote in the output of git: each once, without progress, colours, tokens and frames. */
const linesOfRemote = (stderr: string): ReadonlyArray<string> => {
  const lines = stderr.split(/[\r\n]+/).flatMap((line) => {
    const [, said] = /^(?:remote:|(?=ERROR: ))(.*)$/.exec(line) ?? []
    return said === undefined ? [] : [plain(said)]
  })
  return [...new Set(lines.filter(isWords))]
}

const plain = (said: string): string => foreignWords(said, maxSaid)

const sentenceOf = (lines: ReadonlyArray<string>): string => shortened(lines.join(" "), maxSaid)

/** The words of the remote in the output of git, on one line. */
export const wordsOfRemote = (stderr: string): string => sentenceOf(linesOfRemote(stderr))

/** The HTTP status that ended a call to a remote; undefined where none did. */
export const httpStatusOf = (stderr: string): number | undefined => {
  const [, status] = /^(?!remote:).*(?:returned error: |RPC failed; HTTP )(\d{3})\b/m.exec(stderr) ?? []
  if (status !== undefined) return Number(status)
  if (/^fatal: repository 'https?:.*' not found/m.test(stderr)) return 404
  return /^fatal: Authentication failed for 'https?:/m.test(stderr) ? 401 : undefined
}

interface Decision {
  readonly kind: GitErrorKind
  readonly message: string
}

const decisions = {
  secret_found:
    "The remote found a secret in the commits: take it out of the work, or allow it at the remote, then deliver again.",
  email_private:
    "The remote refuses the e-mail address in the commits, because it is private: allow it in the account at the remote, then retry.",
  scope_missing:
    "The credential lacks a permission or scope for this push: use one that has it in the connection, or leave out the files that need it.",
  branch_in_the_way:
    "A branch of the remote is in the way, because one branch name cannot be a folder of another: deliver to another target_ref, or delete that branch.",
  quota_exceeded: "The storage of the remote is used up: make room or raise the limit there, then retry.",
  too_large: "The push is too large for the remote: take the large files out of the work, or raise the limit there.",
  rule_violated: "A rule of the remote refuses the push: do what it asks for, or change the rule there, then retry.",
  branch_protected:
    "The remote protects the branch: deliver to another target_ref, or change the protection there, then retry.",
  redirected:
    "The repository has moved, and the push is not followed there: change repository.url of the session to its present URL.",
  rejected: "The remote refuses the request, and the same request is refused again: change what the remote objects to."
} satisfies Partial<Record<GitErrorKind, string>>

type DecisionKind = keyof typeof decisions

const decided = (kind: DecisionKind): Decision => ({ kind, message: decisions[kind] })

/** The first that matches decides. Codes end with a colon here and phrases hold blanks, because the name of a branch can have neither. */
const words: ReadonlyArray<readonly [RegExp, DecisionKind]> = [
  [
    /GH009:|push protection|cannot contain secrets|secrets? (?:was |were |been )?(?:detected|found)|(?:contains?|found|detected) (?:\w+ ){0,2}(?:secrets?|credentials?|private keys?)\b/i,
    "secret_found"
  ],
  [/GH007:|private e-?mail address|e-?mail privacy/i, "email_private"],
  [
    /without [`'"]?\w+[`'"]? (?:scope|permission)|insufficient[_ ]scope|write access to (?:the )?repository not granted|does not have write access|marked as read.only|not allowed to (?:push|upload) code (?:to|for) this project|user permission denied for writing/i,
    "scope_missing"
  ],
  [/' exists; cannot create '|directory[ /]file conflict|refname conflict|D\/F conflict/i, "branch_in_the_way"],
  [
    /quota exceeded|(?:data|disk|storage|repository) quota|storage limit|exceed\w* (?:its|your|the repository|the storage) (?:size|storage|limit)|over \d+ ?[KMGT]i?B size limit|no space left on device/i,
    "quota_exceeded"
  ],
  [
    /GH001:|large files? detected|file size limit|(?:larger|greater|bigger) than the|pack exceeds maximum allowed size|exceed\w* the (?:\w+ ){0,3}(?:size|limit)|exceed\w* \S+ (?:file )?size limit|too large|increase this repository size/i,
    "too_large"
  ],
  [/GH013:|repository rule violations/i, "rule_violated"],
  [
    /GH00[36]:|protected (?:branch|ref)|protected from|is protected|not allowed to (?:force[ -])?push|only be modified through pull requests|cannot force[ -]push|force-pushing|currently checked out|deny updating|denying|prohibited|restricted/i,
    "branch_protected"
  ],
  [/you (?:need|lack|do not have|don't have) .{0,40}(?:permission|scope|access)/i, "scope_missing"],
  [/fsck|in (?:tree|commit|object) [0-9a-f]{40}: |archived|read-only/i, "rule_violated"],
  [/file name too long|funny refname/i, "rejected"]
]

/** The words of a fault that passes by itself. */
const passing =
  /internal (?:server )?error|temporar(?:y|ily)|try again|timed? ?out|unavailable|\.lock': File exists|unpacker error|unable to migrate objects|failed to update ref|^failure$|index-pack abnormal exit/i

const notNow: Decision = {
  kind: "remote_unavailable",
  message: "The remote could not take the request just now: try again later."
}

// A warning about one thing stands above the refusal for another.
const byWords = (lines: ReadonlyArray<string>): Decision | undefined => {
  const errors = lines.filter((line) => !/^warning:/i.test(line)).join(" ")
  const kind = words.find(([pattern]) => pattern.test(errors))?.[1]
  return kind === undefined ? undefined : decided(kind)
}

/** True for statuses of which another try may have another. */
const isPassing = (status: number): boolean => status >= 500 || [408, 425, 429].includes(status)

const gone: Decision = {
  kind: "not_found",
  message: "The remote has no such repository, or the credential may not see it: check the URL and the connection."
}

const byStatus = (status: number, said: ReadonlyArray<string>): Decision | undefined => {
  if (isPassing(status)) return notNow
  if (status < 400) return decided("redirected")
  if (status === 401) return undefined
  if (status === 404 || status === 410) return gone
  return byWords(said) ?? (status === 403 ? undefined : decided(status === 413 ? "too_large" : "rejected"))
}

/** The error of a call that a remote answered with a status or with words that are understood; undefined for any other failure. */
export const refusalBy = (stderr: string, isQuoted: boolean): GitError | undefined => {
  const status = httpStatusOf(stderr)
  const said = linesOfRemote(stderr)
  const decision = status === undefined ? byWords(said) : byStatus(status, said)
  return decision === undefined ? undefined : errorOf(decision, isQuoted ? sentenceOf(said) : "", status)
}

/** The error of a call that failed while the remote said anything; undefined where it said nothing. */
export const refusalByAny = (stderr: string, isQuoted: boolean): GitError | undefined => {
  const said = linesOfRemote(stderr)
  return said.length === 0 ? undefined : errorOf(decided("rejected"), isQuoted ? sentenceOf(said) : "")
}

/** The error of an update of a branch that the remote rejected with a reason, as in `[remote rejected] (reason)`. */
export const rejectionBy = (reason: string, stderr: string, isQuoted: boolean): GitError => {
  const lines = [plain(reason), ...linesOfRemote(stderr)]
  const decision = byWords(lines) ?? (passing.test(reason) ? notNow : decided("rule_violated"))
  return errorOf(decision, isQuoted ? sentenceOf(lines) : "")
}

const errorOf = ({ kind, message }: Decision, said: string, status?: number): GitError => {
  const answered = status === undefined ? "" : ` The remote answered with HTTP ${status}.`
  return new GitError({
    kind,
    message: `${message}${answered}${said === "" ? "" : ` The remote said: ${said}`}`,
    ...(status !== undefined && { status })
  })
}
