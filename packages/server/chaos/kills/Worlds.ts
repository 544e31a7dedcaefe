import { type DatabaseName, World } from "./World.js"

/** Installations of their own beside each other, each for one test at a time. */
export class Worlds {
  private readonly idle: Array<World>
  private readonly waiting: Array<(world: World) => void> = []

  private constructor(readonly all: ReadonlyArray<World>) {
    this.idle = [...all]
  }

  /** So many, whose servers `crash` can kill. */
  static async start(database: DatabaseName, count: number): Promise<Worlds> {
    const starting = Array.from({ length: count }, () => World.start(database, { failpoints: true }))
    return new Worlds(await Promise.all(starting))
  }

  /** Does something in a world that nobody else is in. */
  async within<A>(use: (world: World) => Promise<A>): Promise<A> {
    const world = this.idle.pop() ?? (await new Promise<World>((resolve) => this.waiting.push(resolve)))
    try {
      return await use(world)
    } finally {
      const next = this.waiting.shift()
      if (next === undefined) this.idle.push(world)
      else next(world)
    }
  }

  async end(): Promise<void> {
    await Promise.all(this.all.map((world) => world.end()))
  }
}
