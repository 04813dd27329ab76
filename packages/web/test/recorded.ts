import type { Reply } from '@reply/core'
import { seededRandom } from '@reply/testing/internal'
import { describe, expect, test } from 'vitest'
import { recordedStreams, statesOf } from '../../reply/test/web/recorded-states.ts'
import { applyDifference, differenceOf } from '../src/state/difference.ts'
import { toPageRun } from '../src/state/to-page-run.ts'

const sent = <T>(value: T): T => JSON.parse(JSON.stringify(value))

/** The reply as JSON, without the `raw` of its messages, parts and failures. */
function withoutRaw(reply: Reply): unknown {
  const plain: Reply = sent(reply)
  strip(plain)
  return plain
}

function strip(reply: Reply): void {
  drop(reply.error)
  for (const message of reply.messages) {
    drop(message)
    drop(message.error)
    for (const part of message.parts) {
      drop(part)
      if (part.type === 'retry') drop(part.error)
    }
  }
  for (const child of reply.children) strip(child.reply)
}

function drop(value: object | undefined): void {
  if (value) Reflect.deleteProperty(value, 'raw')
}

/** Tests what pages have of recorded replies, of each stream or of one in so many. */
export function testRecordings(oneIn: number): void {
  const streams = recordedStreams()
    .filter((_, index) => index % oneIn === 0)
    .map((stream) => [`${stream.version}/${stream.scenario}${stream.global ? ' (global)' : ''}`, stream] as const)
  const cutsOfEach = Math.ceil(1000 / streams.length)

  describe('a page that loses its connection again and again has the newest reply in the end', () => {
    test.each(streams)('%s', async (name, stream) => {
      const random = seededRandom([...name].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7) >>> 0)
      for (const states of await statesOf(stream)) {
        const runs = states.map((reply) => toPageRun(reply))
        const newest = runs.at(-1)
        expect(newest?.reply).toStrictEqual(withoutRaw(states.at(-1) ?? expect.fail()))
        for (let cut = 0; cut < cutsOfEach; cut += 1) {
          let at = Math.floor(random() * runs.length)
          let had = runs[at]
          let page: unknown = sent(had)
          while (at < runs.length - 1) {
            // A reader skips as many states as it is slow.
            at = Math.min(runs.length - 1, at + 1 + Math.floor(random() ** 3 * 40))
            page = applyDifference(page, sent(differenceOf(had, runs[at])))
            had = runs[at]
          }
          expect(JSON.stringify(page)).toBe(JSON.stringify(newest))
        }
      }
    })
  })
}
