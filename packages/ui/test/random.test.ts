import type { Part, Reply } from '@reply/core'
import { textOf } from '@reply/core'
import { seededRandom } from '@reply/testing/internal'
import { expect, test } from 'vitest'
import { uiTextOf } from '../src/client.ts'
import { call, message, pageOf, replyWith, settled, text } from './make.ts'

/** The texts of a message in no order: one that changes after its step has ended is sent at the end. */
const paragraphs = (said: string): readonly string[] => said.split('\n\n').toSorted()

/** Repeat a failure by its seed. */
test('whatever becomes of the texts of a reply, a page has those that are there in the end', async () => {
  for (let seed = 0; seed < 60; seed += 1) {
    const random = seededRandom(seed)
    const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] ?? expect.fail()
    /** A state that has little to do with the one before. */
    const state = (): Reply => {
      const messages = ['msg_2', 'msg_3', 'msg_4'].flatMap((id) => {
        if (random() < 0.2) return []
        const parts = ['a', 'b', 'c'].flatMap((name): readonly Part[] => {
          if (random() < 0.2) return []
          const place = { messageID: id, status: pick(['open', 'sealed', 'abandoned'] as const) }
          if (name === 'b') return [{ ...call(`${id}-b`, { status: pick(['pending', 'running'] as const) }), ...place }]
          return [
            text(`${id}-${name}`, pick(['', `${id}${name}`, `${id}${name} and more`, `Other ${id}${name}`]), place),
          ]
        })
        return [message(id, random() < 0.2 ? parts.toReversed() : parts)]
      })
      return replyWith([], { messages })
    }
    const states = Array.from({ length: 6 }, state)
    const last = settled(states.at(-1) ?? expect.fail())
    const page = await pageOf([...states, last])
    expect(paragraphs(uiTextOf(page)), `seed ${seed}`).toEqual(paragraphs(textOf(last)))
    const partly = await pageOf(states.slice(0, 3))
    const rest = await pageOf([...states.slice(3), last], {}, partly)
    expect(paragraphs(uiTextOf(rest)), `seed ${seed}, with a message`).toEqual(paragraphs(textOf(last)))
  }
})
