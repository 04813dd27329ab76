import { openCode2Version } from '@reply/testing'
import { expect, test } from 'vitest'
import { textOf } from '../../src/index.ts'
import { setStage, watchAll } from '../drive/stage.ts'

/** OpenCode 2 fails the stream of a reader that has more than this many frames to read. */
const mostBehind = 4096

const answer = 'Hello! This is a plain answer, streamed in a few small pieces, with nothing else to see.'
const words = 'x'.repeat(mostBehind + 50)

/** The recording with a text that grew by one letter at a time. */
function withLongText(recorded: string): string {
  const isEnd = (block: string): boolean => block.includes('"session.text.ended"')
  return recorded
    .split('\n\n')
    .flatMap((block) => {
      if (!isEnd(block)) return [block]
      const end = JSON.parse(block.slice('data:'.length))
      const { text: _, ...data } = end.data
      const grown = [...words].map((delta, at) => {
        const frame = { ...end, id: `${end.id}.${at}`, type: 'session.text.delta', durable: undefined }
        return `data: ${JSON.stringify({ ...frame, data: { ...data, delta } })}`
      })
      return [...grown, `data: ${JSON.stringify({ ...end, data: { ...end.data, text: `${end.data.text}${words}` } })}`]
    })
    .join('\n\n')
}

test('a reader that fell behind loses its stream, and nothing else', async () => {
  const { server, opencode, errors, opened, rest, advance } = setStage({
    scenario: 'plain',
    version: openCode2Version,
    edit: withLongText,
  })
  const replies = watchAll(opencode)
  await rest()
  while (replies.every((reply) => !textOf(reply).endsWith('x'))) {
    server.publish(1)
    await rest()
  }
  // What the server held for the reader is gone with the stream.
  server.cut('error')
  server.publish(mostBehind + 1)
  await rest()
  expect(replies.map((reply) => [textOf(reply), reply.phase])).toEqual([[`${answer}x`, 'working']])
  expect(errors.map(({ type }) => type)).toEqual(['unreachable'])
  await advance(1000)
  expect(opened).toHaveLength(2)
  server.publish(server.length - server.published)
  await rest()
  await advance(10_000)
  expect(replies.map(textOf)).toEqual([`${answer}${words}`])
  expect(replies.map(({ outcome, connection }) => [outcome, connection])).toEqual([['completed', 'live']])
  expect(errors).toHaveLength(1)
  await opencode.close()
})
