import { Context, type Redacted } from "effect"

/** What the core is told by whoever runs it. Paths are absolute. */
export class CoreConfig extends Context.Tag("@reins/core/CoreConfig")<CoreConfig, {
  /** Holds the database (with SQLite), the sessions and the outbox. Only this service's user may read it. */
  readonly dataDir: string
  /** Holds the installed agents; may be shared between installations. */
  readonly cacheDir: string
  /** The key ring that seals credentials. */
  readonly keyFile: string
  /** Where people reach the service; links in mails begin with it. Without a trailing slash. */
  readonly publicUrl: string
  /** An SMTP URL; null writes mails as files to the outbox. */
  readonly smtpUrl: Redacted.Redacted | null
  /** Whether repositories may be paths of this machine. Everybody who can create a session can then read what the service can. */
  readonly allowLocalRepositories: boolean
  /** Turns that run at once. */
  readonly maxRunningTurns: number
  /** The longest that one turn may take. */
  readonly turnDeadlineMs: number
}>() {}
