import { execFileSync, spawnSync } from "node:child_process"
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, it } from "vitest"
import { deployed } from "./Deploy.js"

const directory = mkdtempSync(join(tmpdir(), "reins-unit-"))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const unit = readFileSync(deployed("reins.service"), "utf8")

it("systemd reads the unit without a complaint", () => {
  // Node stands elsewhere on some machines, and systemd looks for the program.
  const file = join(directory, "reins.service")
  writeFileSync(file, unit.replace("/usr/bin/node ", `${process.execPath} `))
  const { status, stderr, stdout } = spawnSync("systemd-analyze", ["verify", file], { encoding: "utf8" })
  assert.deepStrictEqual([status, stdout, stderr], [0, "", ""])
})

it.each(["sandbox", "container"])(
  "systemd reads the unit with the drop-in reins-%s.conf without a complaint",
  (name) => {
    const file = join(directory, "reins.service")
    writeFileSync(file, unit.replace("/usr/bin/node ", `${process.execPath} `))
    mkdirSync(`${file}.d`)
    copyFileSync(deployed(`reins-${name}.conf`), join(`${file}.d`, `${name}.conf`))
    const { status, stderr, stdout } = spawnSync("systemd-analyze", ["verify", file], { encoding: "utf8" })
    rmSync(`${file}.d`, { recursive: true })
    assert.deepStrictEqual([status, stdout, stderr], [0, "", ""])
  }
)

it("systemd rates the exposure of the service at 2.0 of 10 at most", () => {
  const report = execFileSync(
    "systemd-analyze",
    ["security", "--offline=true", "--threshold=20", "--no-pager", deployed("reins.service")],
    { encoding: "utf8" }
  )
  assert.match(report, /Overall exposure level for reins\.service: 1\.\d OK/)
})

it("the service may write its own directory alone, and leaves nothing running", () => {
  for (const line of [
    "ProtectSystem=strict",
    "StateDirectory=reins",
    "KillMode=mixed",
    "NoNewPrivileges=yes",
    "User=reins"
  ]) {
    assert.include(unit.split("\n"), line)
  }
  assert.notMatch(unit, /^ReadWritePaths=/m)
})
