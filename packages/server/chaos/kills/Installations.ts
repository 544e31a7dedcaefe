import { type DatabaseName, Installation, type Making } from "./Installation.js"

/** Installations of their own beside each other, each for one test at a time. */
export class Installations {
  private readonly idle: Array<Installation>
  private readonly waiting: Array<(installation: Installation) => void> = []

  private constructor(readonly all: ReadonlyArray<Installation>) {
    this.idle = [...all]
  }

  /** So many, whose servers `crash` can kill. */
  static async start(
    database: DatabaseName,
    count: number,
    making: Omit<Making, "failpoints"> = {}
  ): Promise<Installations> {
    const starting = Array.from({ length: count }, () => Installation.start(database, { failpoints: true, ...making }))
    return new Installations(await Promise.all(starting))
  }

  /** Does something in an installation that nobody else is in. */
  async within<A>(use: (installation: Installation) => Promise<A>): Promise<A> {
    const installation = this.idle.pop() ?? (await new Promise<Installation>((resolve) => this.waiting.push(resolve)))
    try {
      return await use(installation)
    } finally {
      const next = this.waiting.shift()
      if (next === undefined) this.idle.push(installation)
      else next(installation)
    }
  }

  async end(): Promise<void> {
    await Promise.all(this.all.map((installation) => installation.end()))
  }
}
