import { connect, ReplyError, type ReplyErrorType } from '@reply/core'
import { createHandClock, createRecordedServer, readRecording } from '@reply/testing'
import { expect, test } from 'vitest'
import { createConnectionNotice } from '../src/cli/connection.ts'
import { consoleSink } from '../src/sink.ts'
import { fakeClock } from './fixture/clock.ts'
import { fakeTerminal } from './fixture/terminal.ts'

const { bytes } = readRecording({ version: '1.18.33', scenario: 'plain' })

/** Where in the recording that many deltas have been sent. */
function afterDeltas(count: number): number {
  const frames = new TextDecoder().decode(bytes).split('\n\n')
  const isDelta = (frame: string): boolean => frame.includes('"message.part.delta"')
  return frames.findIndex((_, index) => frames.slice(0, index).filter(isDelta).length === count)
}

/** A plain answer in a log; the stream is cut in the middle of it while two more events are sent. */
async function cutAt(event: number): Promise<string> {
  const server = createRecordedServer({ bytes })
  const clock = createHandClock()
  const { stdout, written } = fakeTerminal(100, 30)
  async function rest(): Promise<void> {
    for (let calm = 0; calm < 2; calm = server.answering === 0 ? calm + 1 : 0) await new Promise(setImmediate)
  }
  async function publishTo(end: number): Promise<void> {
    for (; server.published < end; await clock.advance(250, rest)) server.publish()
  }
  const opencode = connect({ url: 'http://recorded', fetch: server.fetch, clock, random: () => 0.5 })
  opencode.watch({}, { observe: () => [consoleSink({ stdout, clock, live: false, env: {} })] })
  await rest()
  await publishTo(event)
  server.cut('end')
  server.publish(2)
  while (!server.hasListener) await clock.advance(1_000, rest)
  await publishTo(server.length)
  await clock.advance(10_000, rest)
  await opencode.close()
  return written()
}

const ANSWER =
  '\n\nHello! This is a plain answer, streamed in a few small pieces, with nothing else to see.\n\n✓ completed'

test('a cut before the answer is restored with nothing missed', async () => {
  const out = await cutAt(afterDeltas(1) - 8)
  expect(out).toMatch(/^! connection lost, reconnecting …\n✓ connection restored after \d\.\ds, nothing missed\n/)
  expect(out).toContain(ANSWER)
})

test('after a cut in the answer, the missed text is announced and arrives', async () => {
  const out = await cutAt(afterDeltas(3))
  expect(out).toContain(`s, missed text follows when its part ends${ANSWER}`)
})

function outage(isShowing = false) {
  const clock = fakeClock()
  const said: string[] = []
  const state = { isShowing }
  const missed = (): string => ', nothing missed'
  const notice = createConnectionNotice(
    clock,
    (text) => said.push(text),
    () => state.isShowing,
    missed,
  )
  const fail = (type: ReplyErrorType) => notice.onFailure(new ReplyError(type, 'It failed.'), () => said.push(type))
  return { ...notice, clock, said, fail, state }
}

test('an idle watch reports once that the connection is lost, and when it is back', () => {
  const { clock, said, onConnection } = outage()
  onConnection('live')
  onConnection('lost')
  clock.advance(3_000)
  onConnection('live')
  expect(said).toEqual(['connection lost, reconnecting …', 'connection restored after 3.0s, nothing missed'])
})

test('failed attempts during an outage are not reported, other failures are', () => {
  const { clock, said, onConnection, fail } = outage()
  onConnection('lost')
  fail('unreachable')
  fail('refused')
  clock.advance(5_000)
  expect(said).toEqual(['connection lost, reconnecting …', 'refused'])
  onConnection('live')
  fail('unreachable')
  clock.advance(1_000)
  expect(said.at(-1)).toBe('unreachable')
})

test('a call that breaks off right before the connection is lost is not reported separately', () => {
  const { clock, said, onConnection, fail } = outage()
  fail('unreachable')
  clock.advance(999)
  expect(said).toEqual([])
  onConnection('lost')
  onConnection('live')
  clock.advance(5_000)
  expect(said).toHaveLength(2)
})

test('after its end nothing more is reported', () => {
  const { clock, said, fail, stop } = outage()
  fail('unreachable')
  stop()
  clock.advance(5_000)
  expect([said, clock.pending()]).toEqual([[], 0])
})

test('an outage that shown replies report is not reported again', () => {
  const { clock, said, onConnection, fail } = outage(true)
  onConnection('lost')
  fail('unreachable')
  clock.advance(5_000)
  onConnection('live')
  expect(said).toEqual([])
})

test('an outage that was reported here also ends here, whatever the return brought', () => {
  const { said, onConnection, state } = outage()
  onConnection('lost')
  state.isShowing = true
  onConnection('live')
  expect(said).toHaveLength(2)
})

test('nothing is promised if the replies that reported the loss were given up', () => {
  const { clock, said, onConnection, state } = outage(true)
  onConnection('lost')
  state.isShowing = false
  clock.advance(400_000)
  onConnection('live')
  expect(said).toEqual([expect.stringMatching(/^connection restored after \S+( \S+)?$/)])
})
