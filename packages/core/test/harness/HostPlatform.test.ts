import { spawnSync } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import { select, systemsInWords, systemsOf, thisMachine } from "@reins/machine/harness/HostPlatform"
import type { Platform } from "@reins/machine/harness/Manifest"
import * as fc from "fast-check"

const platform = (changes: Partial<Platform>): Platform => ({
  id: "any",
  os: "linux",
  cpu: "x64",
  packages: [],
  executable: "agent",
  ...changes
})

/** The C library by the words of the system itself. */
const toldLibc = (): "glibc" | "musl" => {
  const { stderr, stdout } = spawnSync("ldd", ["--version"], { encoding: "utf8" })
  return /musl/i.test(stdout + stderr) ? "musl" : "glibc"
}

const here = platform({
  os: process.platform === "darwin" ? "darwin" : "linux",
  cpu: process.arch === "arm64" ? "arm64" : "x64"
})

describe("the platform of this machine", () => {
  it.runIf(process.platform === "linux")("has the C library that the system says, and no other", () => {
    const libc = toldLibc()
    assert.include(thisMachine(), `with ${libc}`)
    assert.isDefined(select([platform({ ...here, libc })]))
    assert.isUndefined(select([platform({ ...here, libc: libc === "musl" ? "glibc" : "musl" })]))
  })

  it("is the first that fits, and none where system, processor or its abilities differ", () => {
    const others: ReadonlyArray<Platform> = [
      platform({ ...here, os: "win32" }),
      platform({ ...here, cpu: here.cpu === "x64" ? "arm64" : "x64" }),
      platform({ ...here, cpu_flags: ["no_such_flag"] })
    ]
    assert.isUndefined(select(others))
    assert.strictEqual(select([...others, { ...here, id: "first" }, { ...here, id: "second" }])?.id, "first")
  })

  it("is among the systems of a manifest exactly when a platform names it, and each system is told once", () =>
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            os: fc.constantFrom("linux" as const, "darwin" as const, "win32" as const),
            cpu: fc.constantFrom("x64" as const, "arm64" as const),
            libc: fc.constantFrom("glibc" as const, "musl" as const, undefined)
          })
        ),
        (shapes) => {
          const platforms = shapes.map(({ cpu, libc, os }) => platform({ os, cpu, ...(libc && { libc }) }))
          const systems = systemsOf(platforms)
          const words = systemsInWords(systems)
          assert.strictEqual(new Set(systems.map((each) => JSON.stringify(each))).size, systems.length)
          assert.strictEqual(words === "" ? 0 : words.split(", ").length, systems.length)
          for (const { cpu, libc = null, os } of platforms) assert.deepInclude(systems, { os, cpu, libc })
          for (const { cpu, libc, os } of systems)
            assert.isTrue(platforms.some((each) => each.os === os && each.cpu === cpu && (each.libc ?? null) === libc))
        }
      )
    ))
})
