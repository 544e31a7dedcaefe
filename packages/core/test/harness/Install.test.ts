import { existsSync } from "node:fs"
import { readFile, rm, stat, writeFile } from "node:fs/promises"
import * as path from "node:path"
import { assert, it } from "@effect/vitest"
import { HarnessInstall, type InstallProgress } from "@reins/machine/harness/Install"
import { Manifests } from "@reins/machine/harness/Manifests"
import { installedFrom as manifestOf, registry } from "@reins/testing/harness/Registry"
import { ConfigProvider, Effect, Layer, Option } from "effect"
import gamma from "../../../../manifests/gamma.json" with { type: "json" }

const installer = (cacheDir: string, url: string, manifest: object) =>
  HarnessInstall.pipe(
    Effect.provide(
      HarnessInstall.layer(cacheDir).pipe(
        Layer.provide(Manifests.layerOf([manifest, gamma])),
        Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["REINS_NPM_REGISTRY", url]]))))
      )
    )
  )

it.scopedLive("install brings the pinned packages, and find knows where they are", () =>
  Effect.gen(function* () {
    const { cacheDir, packages, requests, url } = yield* registry
    const service = yield* installer(cacheDir, url, manifestOf(packages))
    assert.isTrue(Option.isNone(yield* service.find("alpha")))
    assert.deepStrictEqual(requests, [])

    const progress: Array<InstallProgress> = []
    const installed = yield* service.install("alpha", (each) => progress.push(each))
    assert.deepStrictEqual(yield* service.find("alpha"), Option.some(installed))
    assert.isTrue(existsSync(path.join(installed.directory, "node_modules/@scope/dependency/package.json")))
    assert.isTrue(((yield* Effect.promise(() => stat(installed.executable))).mode & 0o111) !== 0)
    assert.deepInclude(progress.at(-1), { package: "@scope/dependency@1.0.0", packages_done: 1, packages_total: 2 })

    yield* service.install("alpha")
    assert.strictEqual(requests.length, 2)
    yield* Effect.promise(() => rm(installed.executable))
    assert.isTrue(Option.isNone(yield* service.find("alpha")))
  })
)

it.scopedLive("what another process installs, breaks or removes shows at the next look", () =>
  Effect.gen(function* () {
    const { cacheDir, packages, url } = yield* registry
    const [here, elsewhere] = yield* Effect.all([1, 2].map(() => installer(cacheDir, url, manifestOf(packages))))
    assert.isDefined(here)
    assert.isDefined(elsewhere)
    const isFound = Effect.map(here.find("alpha"), Option.isSome)
    assert.isFalse(yield* isFound)
    const { directory } = yield* elsewhere.install("alpha")
    assert.isTrue(yield* isFound)

    const marker = path.join(directory, "reins-install.json")
    const text = yield* Effect.promise(() => readFile(marker, "utf8"))
    yield* Effect.promise(() => writeFile(marker, text.replace("1.0.0", "1.0.1")))
    assert.isFalse(yield* isFound)
    yield* Effect.promise(() => writeFile(marker, text))
    assert.isTrue(yield* isFound)

    yield* Effect.promise(() => rm(directory, { recursive: true }))
    assert.isFalse(yield* isFound)
    yield* elsewhere.install("alpha")
    assert.isTrue(yield* isFound)
  })
)

it.scopedLive("a package that is not what was pinned is thrown away", () =>
  Effect.gen(function* () {
    const { altered, cacheDir, packages, url } = yield* registry
    const service = yield* installer(cacheDir, url, manifestOf(packages))
    altered.add("@scope/dependency")
    const error = yield* Effect.flip(service.install("alpha"))
    assert.deepInclude({ ...error }, { _tag: "HarnessInstallError", kind: "integrity" })
    assert.isTrue(Option.isNone(yield* service.find("alpha")))
  })
)

it.scopedLive("a failed install says so, and the next one goes on where it stopped", () =>
  Effect.gen(function* () {
    const { broken, cacheDir, packages, requests, url } = yield* registry
    const service = yield* installer(cacheDir, url, manifestOf(packages))
    broken.add("@scope/dependency")
    const error = yield* Effect.flip(service.install("alpha"))
    assert.deepInclude({ ...error }, { kind: "network" })
    broken.clear()
    requests.length = 0
    yield* service.install("alpha")
    assert.deepStrictEqual(requests, ["/@scope/dependency/-/dependency-1.0.0.tgz"])
  })
)

it.scopedLive("several installs at once download once", () =>
  Effect.gen(function* () {
    const { cacheDir, packages, requests, url } = yield* registry
    const services = yield* Effect.all([1, 2, 3].map(() => installer(cacheDir, url, manifestOf(packages))))
    yield* Effect.forEach(services, (service) => service.install("alpha"), { concurrency: "unbounded" })
    assert.strictEqual(requests.length, 2)
  })
)

it.scopedLive("what cannot be installed here is refused with the reason", () =>
  Effect.gen(function* () {
    const { cacheDir, packages, url } = yield* registry
    const elsewhere = yield* installer(cacheDir, url, manifestOf(packages, { os: "win32", cpu: "arm64" }))
    const error = yield* Effect.flip(elsewhere.install("alpha"))
    assert.deepInclude({ ...error }, { _tag: "HarnessInstallError", kind: "platform_unsupported" })
    assert.match(
      String(Reflect.get(error, "message")),
      /no build for \S+ on \S+.*\. It can be installed on Windows on arm64\.$/
    )
    assert.isTrue(Option.isNone(yield* elsewhere.find("alpha")))
    assert.deepInclude({ ...(yield* Effect.flip(elsewhere.install("gamma"))) }, { kind: "disabled" })
    assert.deepInclude(
      { ...(yield* Effect.flip(elsewhere.install("omega"))) },
      { _tag: "HarnessNotFound", providerId: "omega" }
    )

    yield* Effect.promise(() => writeFile(`${path.dirname(cacheDir)}/file`, ""))
    const unwritable = yield* installer(path.join(path.dirname(cacheDir), "file"), url, manifestOf(packages))
    assert.deepInclude({ ...(yield* Effect.flip(unwritable.install("alpha"))) }, { kind: "disk" })
  })
)
