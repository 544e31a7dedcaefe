import { shortened } from "@reins/base/base/CutText"
import type { ForeignText } from "@reins/base/base/ForeignText"
import { foreignWords } from "@reins/base/base/ForeignWords"
import { type ReadRefusal, type RefusalRow, refusalOf } from "@reins/base/base/RefusalTable"
import { GitError, type GitErrorKind } from "../run/GitError.js"

// Reads what a remote says when it refuses. The patterns are of texts that GitHub, GitLab, Gitea, Forgejo, Bitbucket, Azure DevOps and git itself send.

/** The most words of a remote that a message repeats, in characters. */
const maxSaid = 2_000

const progress =
  /^(?:(?:resolving deltas|compressing objects|counting objects|enumerating objects|writing objects|checking connectivity|processing changes)\b|total \d)/i

const isWords = (line: string): boolean => /[\p{L}\p{N}]/u.test(line) && !progress.test(line)

/** The lines of the remote in the output of git: each once, without progress, colours, tokens and frames. */
const linesOfRemote = (stderr: ForeignText): ReadonlyArray<string> => {
  const lines = stderr.split(/[\r\n]+/).flatMap((line) => {
    const [, said] = /^(?:remote:|(?=ERROR: ))(.*)$/.exec(line) ?? []
    return said === undefined ? [] : [plain(said)]
  })
  return [...new Set(lines.filter(isWords))]
}

const plain = (said: string): ForeignText => foreignWords(said, maxSaid)

const sentenceOf = (lines: ReadonlyArray<string>): string => shortened(lines.join(" "), maxSaid)

/** The words of the remote in the output of git, on one line. */
export const wordsOfRemote = (stderr: ForeignText): string => sentenceOf(linesOfRemote(stderr))

/** The HTTP status that ended a call to a remote; undefined where none did. */
export const httpStatusOf = (stderr: ForeignText): number | undefined => {
  const [, status] = /^(?!remote:).*(?:returned error: |RPC failed; HTTP )(\d{3})\b/m.exec(stderr) ?? []
  if (status !== undefined) return Number(status)
  if (/^fatal: repository 'https?:.*' not found/m.test(stderr)) return 404
  return /^fatal: Authentication failed for 'https?:/m.test(stderr) ? 401 : undefined
}

type Row = RefusalRow<GitErrorKind>

const scopeMissing = {
  is: "scope_missing",
  mender: "person",
  say: "The credential lacks a permission or scope for this push: use one that has it in the connection, or leave out the files that need it."
} as const satisfies Row

const tooLarge = {
  is: "too_large",
  mender: "person",
  say: "The push is too large for the remote: take the large files out of the work, or raise the limit there."
} as const satisfies Row

const ruleViolated = {
  is: "rule_violated",
  mender: "person",
  say: "A rule of the remote refuses the push: do what it asks for, or change the rule there, then retry."
} as const satisfies Row

const rejected = {
  is: "rejected",
  mender: "person",
  say: "The remote refuses the request, and the same request is refused again: change what the remote objects to."
} as const satisfies Row

const notNow = {
  is: "remote_unavailable",
  mender: "time",
  say: "The remote could not take the request just now: try again later."
} as const satisfies Row

const range = (first: number, last: number): ReadonlyArray<number> =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at)

/** Refusals by their words. Codes end with a colon here and phrases hold blanks, because the name of a branch can have neither. */
const byWords: ReadonlyArray<Row> = [
  {
    pattern:
      /GH009:|push protection|cannot contain secrets|secrets? (?:was |were |been )?(?:detected|found)|(?:contains?|found|detected) (?:\w+ ){0,2}(?:secrets?|credentials?|private keys?)\b/i,
    is: "secret_found",
    mender: "person",
    say: "The remote found a secret in the commits: take it out of the work, or allow it at the remote, then deliver again."
  },
  {
    pattern: /GH007:|private e-?mail address|e-?mail privacy/i,
    is: "email_private",
    mender: "person",
    say: "The remote refuses the e-mail address in the commits, because it is private: allow it in the account at the remote, then retry."
  },
  {
    pattern:
      /without [`'"]?\w+[`'"]? (?:scope|permission)|insufficient[_ ]scope|write access to (?:the )?repository not granted|does not have write access|marked as read.only|not allowed to (?:push|upload) code (?:to|for) this project|user permission denied for writing/i,
    ...scopeMissing
  },
  {
    pattern: /' exists; cannot create '|directory[ /]file conflict|refname conflict|D\/F conflict/i,
    is: "branch_in_the_way",
    mender: "person",
    say: "A branch of the remote is in the way, because one branch name cannot be a folder of another: deliver to another target_ref, or delete that branch."
  },
  {
    pattern:
      /quota exceeded|(?:data|disk|storage|repository) quota|storage limit|exceed\w{0,3} (?:its|your|the repository|the storage) (?:size|storage|limit)|over \d{1,9} ?[KMGT]i?B size limit|no space left on device/i,
    is: "quota_exceeded",
    mender: "operator",
    say: "The storage of the remote is used up: make room or raise the limit there, then retry."
  },
  {
    pattern:
      /GH001:|large files? detected|file size limit|(?:larger|greater|bigger) than the|pack exceeds maximum allowed size|exceed\w{0,3} the (?:\w{1,40} ){0,3}(?:size|limit)|exceed\w{0,3} \S{1,40} (?:file )?size limit|too large|increase this repository size/i,
    ...tooLarge
  },
  { pattern: /GH013:|repository rule violations/i, ...ruleViolated },
  {
    pattern:
      /GH00[36]:|protected (?:branch|ref)|protected from|is protected|not allowed to (?:force[ -])?push|only be modified through pull requests|cannot force[ -]push|force-pushing|currently checked out|deny updating|denying|prohibited|restricted/i,
    is: "branch_protected",
    mender: "person",
    say: "The remote protects the branch: deliver to another target_ref, or change the protection there, then retry."
  },
  {
    pattern: /you (?:need|lack|do not have|don't have) .{0,40}(?:permission|scope|access)/i,
    ...scopeMissing
  },
  { pattern: /fsck|in (?:tree|commit|object) [0-9a-f]{40}: |archived|read-only/i, ...ruleViolated },
  { pattern: /file name too long|funny refname/i, ...rejected }
]

/** Refusals of calls over HTTP. Of 401 and of 403 without known words, what git itself says tells more. */
const byAnswer: ReadonlyArray<Row> = [
  { status: [408, 425, 429, ...range(500, 599)], ...notNow },
  {
    status: range(300, 399),
    is: "redirected",
    mender: "person",
    say: "The repository has moved, and the push is not followed there: change repository.url of the session to its present URL."
  },
  {
    status: [404, 410],
    is: "not_found",
    mender: "person",
    say: "The remote has no such repository, or the credential may not see it: check the URL and the connection."
  },
  ...byWords,
  { status: [413], ...tooLarge },
  { status: [400, 402, ...range(405, 499)], ...rejected }
]

/** Refusals in the answer of git itself, by the reason of an update. */
const byReason: ReadonlyArray<Row> = [
  {
    pattern:
      /internal (?:server )?error|temporar(?:y|ily)|try again|timed? ?out|unavailable|\.lock': File exists|unpacker error|unable to migrate objects|failed to update ref|^failure$|index-pack abnormal exit/i,
    ...notNow
  },
  ruleViolated
]

const readWords = refusalOf(byWords)
const readAnswer = refusalOf(byAnswer)
const readReason = refusalOf(byReason)

type Decision = Pick<ReadRefusal<GitErrorKind>, "kind" | "say">

const without = { headers: {}, status: 0 }

// A warning about one thing stands above the refusal for another.
const errorsIn = (lines: ReadonlyArray<string>): string => lines.filter((line) => !/^warning:/i.test(line)).join(" ")

/** The error of a call that a remote answered with a status or with words that are understood; undefined for any other failure. */
export const refusalBy = (stderr: ForeignText, isQuoted: boolean): GitError | undefined => {
  const status = httpStatusOf(stderr)
  const said = linesOfRemote(stderr)
  const words = errorsIn(said)
  const decision =
    status === undefined
      ? readWords({ ...without, words }, 0)
      : status === 401
        ? undefined
        : readAnswer({ ...without, status, words }, 0)
  return decision === undefined ? undefined : errorOf(decision, isQuoted ? sentenceOf(said) : "", status)
}

/** The error of a call that failed while the remote said anything; undefined where it said nothing. */
export const refusalByAny = (stderr: ForeignText, isQuoted: boolean): GitError | undefined => {
  const said = linesOfRemote(stderr)
  return said.length === 0
    ? undefined
    : errorOf({ kind: rejected.is, say: rejected.say }, isQuoted ? sentenceOf(said) : "")
}

/** The error of an update of a branch that the remote rejected with a reason, as in `[remote rejected] (reason)`. */
export const rejectionBy = (reason: string, stderr: ForeignText, isQuoted: boolean): GitError => {
  const lines = [plain(reason), ...linesOfRemote(stderr)]
  const decision =
    readWords({ ...without, words: errorsIn(lines) }, 0) ?? readReason({ ...without, words: plain(reason) }, 0)
  return errorOf(decision ?? { kind: ruleViolated.is, say: ruleViolated.say }, isQuoted ? sentenceOf(lines) : "")
}

const errorOf = ({ kind, say }: Decision, said: string, status?: number): GitError => {
  const answered = status === undefined ? "" : ` The remote answered with HTTP ${status}.`
  return new GitError({
    kind,
    message: `${say}${answered}${said === "" ? "" : ` The remote said: ${said}`}`,
    ...(status !== undefined && { status })
  })
}
