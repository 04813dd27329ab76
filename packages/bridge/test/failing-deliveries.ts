import { seededRandom } from '@reply/testing/internal'
import { expect, test } from 'vitest'
import type { BridgeEvent } from '../src/events/event.ts'
import { startHandDriven } from './hand-driven.ts'
import { answer } from './local-agent.ts'

const prompts = 85
/** Of the calls that post. */
const rate = 0.14
const faults = [
  { type: 'status', code: 502 },
  { type: 'status', code: 502, isTaken: true },
  { type: 'stall' },
  { type: 'accept-then-stall' },
  { type: 'accept-then-drop' },
  { type: 'refuse' },
] as const

/** Loses answers of a platform, by a seed. */
export function testFailedDeliveries(seed: number): void {
  test(`of ${prompts} prompts with 14 % of the posts unanswered, each answer is there, or its chat is told: seed ${seed}`, {
    timeout: 600_000,
  }, async () => {
    const random = seededRandom(seed)
    const events: BridgeEvent[] = []
    const { telegram, chats, said, passes } = await startHandDriven((run, text) => answer(run, `You said: ${text}.`), {
      observers: [(event) => events.push(event)],
    })
    const lost: string[] = []
    let copied = 0
    for (let nth = 1; nth <= prompts; nth++) {
      // The answer's own posts, and what is posted after them.
      for (const at of [1, 2, 3])
        if (random() < rate) {
          const fault = faults[Math.floor(random() * faults.length)] ?? faults[0]
          telegram.inject({ ...fault, chatId: 1, method: /^send(Rich)?Message$/, nth: at })
        }
      const before = said(1).length
      telegram.say(1, `number ${nth}`)
      const since = (): readonly string[] => said(1).slice(before)
      const isTold = (): boolean => since().some((text) => text.includes('may be missing here'))
      const isThere = (): number => since().filter((text) => text.includes(`You said: number ${nth}.`)).length
      await passes(() => isTold() || delivered(events, nth) !== undefined)
      const missing = delivered(events, nth) ?? 0
      if (missing > 0) await passes(isTold)
      if (isThere() === 0 && !isTold()) lost.push(`number ${nth}`)
      if (isThere() > 1) copied += 1
    }
    expect(lost).toEqual([])
    const doubtful = events.reduce((sum, event) => sum + (event.type === 'delivery' ? event.doubtful : 0), 0)
    expect(doubtful).toBeGreaterThanOrEqual(copied)
    await chats.close()
  })
}

/** How many messages of the nth answer are missing. Undefined before its end. */
function delivered(events: readonly BridgeEvent[], nth: number): number | undefined {
  return events.filter((event) => event.type === 'delivery')[nth - 1]?.undelivered
}
