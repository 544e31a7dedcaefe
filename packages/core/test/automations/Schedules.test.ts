import { setImmediate } from "node:timers/promises"
import { fromMillis } from "@reins/base/domain/Timestamp"
import {
  dueUpTo,
  jitterMs,
  leastMinutes,
  preview,
  ScheduleFault,
  scheduleOf,
  timesAfter
} from "@reins/core/automations/Schedules"
import { share } from "@reins/testing/Volume"
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { minutesOf, timesOf } from "./CronOracle.js"

/** Clocks that move by half an hour, at midnight, and by two hours. The soak has others, too. */
const zones = share(
  ["Australia/Lord_Howe", "America/Havana", "Antarctica/Troll"],
  [
    "America/New_York",
    "Europe/Berlin",
    "Australia/Lord_Howe",
    "Africa/Cairo",
    "Antarctica/Troll",
    "Asia/Kolkata",
    "America/Havana",
    "America/Santiago"
  ]
)

const expressions = [
  ...["30 2 * * *", "0 2 * * *", "0 3 * * *", "30 1 * * *", "0 1 * * *", "0 0 * * *", "15 0 * * *", "45 1 * * 0"],
  ...["0 2 * * 0", "30 23 * * 6", "0 */2 * * *", "30 */3 * * *", "10 1-3 * * *", "5,35 1,2,3 * * *", "0 9 * * 1-5"],
  ...["0,30 2 * * *", "*/15 2 * * *", "*/20 1 * * *", "0 0,12 * * *", "0 0 1 * *", "0 0 31 * *", "0 12 29 2 *"],
  ...[
    "0 9 */2 * 1",
    "0 9 * * */2",
    "0 9 1-31/2 * 1",
    "0 0 */10,5 * 2-4",
    "0 6 1,15 * */3",
    "0 7 */7 2,4 5-7",
    "0 0 31 * */1"
  ],
  ...["0 0 13 * 5", "0 0 * * 7", "0 4 */2 * *", "0 6 1,15 * 1", "59 23 28-31 * *", "0 8 * jan,jul mon"]
]

const days = 400
const start = Date.UTC(2026, 0, 1)
const end = start + days * 24 * 60 * 60_000

const cron = (expression: string, timezone = "Europe/Berlin") => ({ kind: "schedule" as const, expression, timezone })

const faultOf = (trigger: Parameters<typeof scheduleOf>[0]): ScheduleFault => {
  try {
    scheduleOf(trigger)
  } catch (fault) {
    if (fault instanceof ScheduleFault) return fault
  }
  return assert.fail("it was taken")
}

describe("Schedules", () => {
  for (const zone of zones) {
    it(`the times of ${expressions.length} expressions over ${days} days in ${zone} are those of the oracle`, async () => {
      const minutes = minutesOf(zone, start, days)
      for (const expression of expressions) {
        // The runner is told of a test that goes on only while it lets others run.
        await setImmediate()
        const times: Array<number> = []
        const schedule = scheduleOf(cron(expression, zone))
        for (let at = schedule.next(start - 1); at !== undefined && at < end; at = schedule.next(at)) times.push(at)
        assert.deepStrictEqual(times, timesOf(minutes, expression), expression)
      }
    }, 60_000)
  }

  it("what is next, what is due and what a preview tells agree from any instant", () => {
    const triggers = fc.record({
      zone: fc.constantFrom(...zones),
      expression: fc.constantFrom(...expressions),
      from: fc.integer({ min: start, max: end })
    })
    fc.assert(
      fc.property(triggers, ({ expression, from, zone }) => {
        const trigger = cron(expression, zone)
        const schedule = scheduleOf(trigger)
        const times = timesAfter(schedule, from, 5)
        assert.deepStrictEqual(
          preview(trigger, fromMillis(from), 5).map(({ at }) => at),
          times.map((at) => fromMillis(at))
        )
        const [first, , third, fourth] = times
        if (first === undefined || third === undefined || fourth === undefined) return
        assert.isAbove(first, from)
        assert.deepStrictEqual(dueUpTo(schedule, first, third), { newest: third, count: 3 })
        assert.deepStrictEqual(dueUpTo(schedule, first, fourth - 1), { newest: third, count: 3 })
        const jitter = jitterMs("aut_1", trigger, schedule, first)
        assert.isAtLeast(jitter, 0)
        assert.isAtMost(jitter, 60_000)
        assert.strictEqual(jitter, jitterMs("aut_1", trigger, schedule, first))
      }),
      { numRuns: 200 }
    )
  })

  it("a preview marks a time that the clock skips, and one that it shows twice", () => {
    const day = (text: string) => fromMillis(Date.parse(text))
    assert.deepStrictEqual(preview(cron("30 2 * * *"), day("2026-03-28T12:00Z"), 2), [
      { at: day("2026-03-29T01:00Z"), local: "2026-03-29T03:00+02:00", note: "moved_by_clock_change" },
      { at: day("2026-03-30T00:30Z"), local: "2026-03-30T02:30+02:00", note: null }
    ])
    const twice = preview(cron("0,30 2 * * *"), day("2026-10-24T12:00Z"), 5)
    assert.deepStrictEqual(
      twice.map(({ note }) => note),
      [null, null, "repeated", "repeated", null]
    )
    assert.deepStrictEqual(twice[2], {
      at: day("2026-10-25T01:00Z"),
      local: "2026-10-25T02:00+01:00",
      note: "repeated"
    })
  })

  it("the newest time after a long absence is found, however many there were", () => {
    const schedule = scheduleOf(cron("*/5 * * * *", "UTC"))
    assert.deepStrictEqual(dueUpTo(schedule, start, start + 100 * 24 * 60 * 60_000 + 1), {
      newest: start + 100 * 24 * 60 * 60_000,
      count: 1_000
    })
  })

  it("only five fields of numbers, ranges, lists and steps are an expression", () => {
    const others = [
      ...[
        "@daily",
        "* * * *",
        "0 0 0 * * *",
        "0 0 ? * *",
        "0 0 L * *",
        "0 0 * * 5#2",
        "0 0 15W * *",
        "2026-01-01T00:00"
      ],
      ...[
        "60 * * * *",
        "0 24 * * *",
        "0 0 0 * *",
        "0 0 1 13 *",
        "0 0 * * 8",
        "0 0 5-1 * *",
        "5/10 * * * *",
        "0 */0 * * *"
      ],
      ...["0 0 * foo *", "1,,2 * * * *", "-1 * * * *", "0 0 * * mon-", "0 1.5 * * *"]
    ]
    for (const expression of others) assert.strictEqual(faultOf(cron(expression)).field, "expression", expression)
    assert.match(faultOf(cron("0 24 * * *")).why, /^has the hour "24"; it goes from 0 to 23$/)
  })

  it("any text is an expression with times that ascend, or a fault", () => {
    const field = fc.oneof(
      fc.constantFrom("*", "*/99", "0", "7", "mon", "sat-sun", "1-5/2", "*/0", "L", "0-59/61", "feb", "2-fri"),
      fc.string({ maxLength: 6 })
    )
    fc.assert(
      fc.property(
        fc.oneof(fc.array(field, { minLength: 4, maxLength: 6 }), fc.tuple(...Array(5).fill(field))),
        (parts) => {
          try {
            const times = timesAfter(scheduleOf(cron(parts.join(" "), "UTC")), start, 3)
            assert.isTrue(times.every((time, index) => time > (times[index - 1] ?? start)))
          } catch (fault) {
            assert.instanceOf(fault, ScheduleFault, parts.join(" "))
          }
        }
      ),
      { numRuns: 500 }
    )
  })

  it("two times are at least five minutes apart", () => {
    assert.strictEqual(leastMinutes, 5)
    for (const expression of ["* * * * *", "*/4 * * * *", "0,3 12 * * *", "1,58 * * * *", "58,2 23,0 * * *"])
      assert.match(faultOf(cron(expression)).why, /5 minutes are the least$/, expression)
    for (const expression of ["*/5 * * * *", "58 * * * *", "1,58 1,3 * * *"]) scheduleOf(cron(expression))
  })

  it("a zone is one of IANA; offsets and abbreviations are none", () => {
    for (const zone of ["EST", "+02:00", "Etc", "Mars/Phobos", "CET", "utc", "Europe/Berlin ", ""])
      assert.strictEqual(faultOf(cron("0 0 * * *", zone)).field, "timezone", zone)
    for (const zone of ["UTC", "Asia/Kolkata", "Europe/Kyiv", "America/Argentina/Buenos_Aires", "Etc/GMT+3"])
      scheduleOf(cron("0 0 * * *", zone))
  })

  it("a time that never comes is known", () => {
    assert.isUndefined(scheduleOf(cron("0 0 31 2 *")).next(start))
    assert.strictEqual(scheduleOf(cron("0 12 29 2 *", "UTC")).next(start), Date.UTC(2028, 1, 29, 12))
    for (const expression of ["0 0 31 2 *", "0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 30-31 feb */1", "0 0 31 4 */2"]) {
      assert.isUndefined(scheduleOf(cron(expression)).next(start), expression)
      assert.throws(() => preview(cron(expression), fromMillis(start), 1), "never comes")
    }
    // A weekday that does not begin with a star is enough by itself.
    for (const expression of [
      "0 0 31 4 1",
      "0 0 30 2 mon-fri",
      "0 0 31 sep sun-sat/1,*",
      "0 0 29 2 */7",
      "0 0 */30 2 1"
    ])
      assert.lengthOf(preview(cron(expression), fromMillis(start), 2), 2, expression)
  })
})
