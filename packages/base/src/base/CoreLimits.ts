/** The most files that may come with one message. No operator can change it. */
export const maxAttachments = 20

/** The bounds that an operator may change. Bytes and characters bound one thing, counts bound what exists at once. */
export interface CoreLimits {
  /** The text of one message. It cannot be more than 100,000, the bound of the contract. */
  readonly messageCharacters: number
  /** The body of a request that is not an upload. */
  readonly jsonBodyBytes: number
  /** A file in an upload. */
  readonly uploadBytes: number
  /** The content of a file that a read answers with. Longer content is cut, and the answer says so. */
  readonly fileReadBytes: number
  /** A whole diff. */
  readonly diffBytes: number
  /** The diff of one file. */
  readonly diffFileBytes: number
  /** The files of one diff. */
  readonly diffFiles: number
  /** Turns that wait in a session. */
  readonly queuedTurns: number
  /** The depth to which delegations may be nested. */
  readonly delegationDepth: number
  /** Delegations of a session that have not ended. */
  readonly liveDelegations: number
  /** Delegations of all sessions together that work for one another. */
  readonly treeDelegations: number
  /** The seconds after which a delegation fails that has no deadline of its own. */
  readonly delegationSeconds: number
  /** A file that an agent publishes. */
  readonly artifactBytes: number
  /** Files that the agent of one turn publishes. */
  readonly artifactsPerTurn: number
  /** Published files that a session keeps. */
  readonly artifactsPerSession: number
  /** Calls of tools in one turn. */
  readonly toolCallsPerTurn: number
  /** Calls of tools of one turn that are open at once. */
  readonly openToolCalls: number
  /** Tools that an agent is offered: those of the service, those of servers and the functions together. */
  readonly offeredTools: number
  /** The input of a call of a tool, as JSON. */
  readonly toolInputCharacters: number
  /** The answer of a tool that a model gets. A longer one is cut in the middle. */
  readonly toolAnswerCharacters: number
  /** The images of an answer that a model gets. */
  readonly toolAnswerImages: number
  /** The answer of a server of a project. */
  readonly serverAnswerBytes: number
  /** The servers that a project version names. It cannot be more than 50, the bound of the contract. */
  readonly serversPerVersion: number
  /** The tools that the servers of a project version are allowed together. It cannot be more than 256, the bound of the contract. */
  readonly serverToolsPerVersion: number
  /** Requests of one caller of the server within a minute. Null allows any number. */
  readonly requestsPerMinute: number | null
  /** Registrations of one client within an hour. Null allows any number. */
  readonly registrationsPerHour: number | null
  /** Sessions of a workspace that are not closed. Null allows any number. */
  readonly sessionsPerWorkspace: number | null
  /** Working trees of a workspace, each a clone of its repository. Null allows any number. */
  readonly workingTreesPerWorkspace: number | null
  /** The bytes that the files of all sessions of a workspace take on the disk. They are measured every minute. Null allows any number. */
  readonly diskBytesPerWorkspace: number | null
  /** Event streams of one caller on one session. Null allows any number. */
  readonly streamsPerSession: number | null
  /** The days that the events of a closed session are kept after its last event. Null keeps them for ever. */
  readonly eventRetentionDays: number | null
}

const MiB = 1024 * 1024

/** The bounds of an installation that sets none. */
export const defaultLimits: CoreLimits = {
  messageCharacters: 100_000,
  jsonBodyBytes: MiB,
  uploadBytes: 25 * MiB,
  fileReadBytes: 10 * MiB,
  diffBytes: MiB,
  diffFileBytes: MiB / 2,
  diffFiles: 1000,
  queuedTurns: 20,
  delegationDepth: 3,
  liveDelegations: 10,
  treeDelegations: 50,
  delegationSeconds: 24 * 60 * 60,
  artifactBytes: 25 * MiB,
  artifactsPerTurn: 50,
  artifactsPerSession: 500,
  toolCallsPerTurn: 500,
  openToolCalls: 32,
  offeredTools: 100,
  toolInputCharacters: 262_144,
  toolAnswerCharacters: 100_000,
  toolAnswerImages: 4,
  serverAnswerBytes: 4 * MiB,
  serversPerVersion: 20,
  serverToolsPerVersion: 64,
  requestsPerMinute: 600,
  registrationsPerHour: 30,
  sessionsPerWorkspace: null,
  workingTreesPerWorkspace: null,
  diskBytesPerWorkspace: null,
  streamsPerSession: 8,
  eventRetentionDays: null
}

/** The bound on the body of an upload, in bytes: the file in base64, and the JSON around it. */
export const uploadBodyBytes = ({ uploadBytes }: CoreLimits): number => Math.ceil(uploadBytes * 1.5) + 64 * 1024
