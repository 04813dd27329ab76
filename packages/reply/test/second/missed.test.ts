import { createHandClock, createRecordedServer, openCode2Version } from '@reply/testing'
import { expect, test } from 'vitest'
import { connect, toolsOf } from '../../src/index.ts'
import { createDecoder2 } from '../../src/source/opencode2/decode.ts'
import { watchAll } from '../drive/stage.ts'
import { type Frame, readTape, secondRecordings } from './recorded.ts'

/** A client of a recorded server. The stream loses the frames that are `lost`. */
async function stage(scenario: string, lost: (frame: Frame) => boolean = () => false) {
  const server = createRecordedServer({ bytes: readTape(scenario).bytes, version: openCode2Version })
  const clock = createHandClock()
  let reads = 0
  const call: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    const response = await server.fetch(request)
    const { pathname } = new URL(request.url)
    if (/\/message$/.test(pathname)) reads += 1
    return pathname === '/api/event' ? new Response(response.body?.pipeThrough(without(lost)), response) : response
  }
  const opencode = connect({ url: 'http://recorded', fetch: call, clock, random: () => 0 })
  watchAll(opencode)
  await opencode.ready
  const rest = async (): Promise<void> => {
    for (let calm = 0; calm < 8; calm = server.answering === 0 ? calm + 1 : 0)
      await new Promise<void>((resolve) => setImmediate(resolve))
  }
  await rest()
  // The check after a connection is over.
  await clock.advance(2000, rest)
  reads = 0
  return { server, opencode, rest, reads: () => reads }
}

function without(lost: (frame: Frame) => boolean): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream({
    transform: (chunk, controller) => {
      const kept = new TextDecoder()
        .decode(chunk)
        .split('\n\n')
        .filter((block) => !block.startsWith('data: ') || !lost(JSON.parse(block.slice(6))))
      controller.enqueue(new TextEncoder().encode(kept.join('\n\n')))
    },
  })
}

const isSuccess = ({ type }: Frame): boolean => type === 'session.tool.success'

test('an event that is missing is read at once, although the connection is up', async () => {
  const { server, opencode, rest, reads } = await stage('tool-only', isSuccess)
  server.publish(server.types.indexOf('session.tool.success') + 1)
  await rest()
  const statuses = async (): Promise<readonly string[]> => {
    const reply = await opencode.reply(readTape('tool-only').sessions[0]?.id ?? '')
    return reply ? toolsOf(reply).map(({ state }) => state.status) : []
  }
  expect([await statuses(), reads()]).toEqual([['running'], 0])
  const next = server.types.indexOf('session.step.ended')
  server.publish(next + 1 - server.published)
  await rest()
  expect([await statuses(), reads()]).toEqual([['completed'], 1])
  await opencode.close()
})

test('a run without a gap is not read', async () => {
  const { server, opencode, rest, reads } = await stage('two-turns')
  server.publish(server.length)
  await rest()
  expect(reads()).toBe(0)
  await opencode.close()
})

test('in no recording an event is missing', () => {
  const missed = secondRecordings.filter(({ scenario }) => {
    const decoder = createDecoder2()
    const events = readTape(scenario).frames.flatMap((frame) => decoder.decodeValue(frame, 0) ?? [])
    return events.some(({ type }) => type === 'missed')
  })
  expect(missed).toEqual([])
})
