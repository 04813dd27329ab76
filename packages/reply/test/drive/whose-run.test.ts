import { createRecordedServer, readRecording } from '@reply/testing'
import { expect, test } from 'vitest'
import type { Reply } from '../../src/index.ts'
import { observing } from '../observing.ts'
import { setStage } from './stage.ts'

const scenario = 'second-prompt'
const recording = readRecording({ version: '1.18.33', scenario })
const { types } = createRecordedServer({ bytes: recording.bytes })
const sessionID = Object.keys(recording.truth.sessions)[0] ?? ''

/** After the first delta, and before the second prompt's message. */
const begun = types.indexOf('message.part.delta') + 1

/** A busy session, on a server where prompts without words are recognized by their arrival. */
async function working() {
  const stage = setStage({ scenario, tells: '1.18.3' })
  stage.opencode.watch({}, { observe: () => [] })
  await stage.rest()
  stage.server.publish(begun)
  await stage.rest()
  const aborts = (): number => stage.server.posts.filter((post) => post.includes('/abort')).length
  const files = [{ url: 'data:text/plain,x', mime: 'text/plain' }]
  const publishUntil = async (isSo: () => boolean): Promise<void> => {
    while (!isSo() && stage.server.published < types.length) {
      stage.server.publish(1)
      await stage.rest()
    }
    expect(isSo()).toBe(true)
  }
  return { ...stage, aborts, publishUntil, input: { sessionID, files } }
}

test.each(['signal', 'timeoutMs'] as const)(
  'the %s of a prompt that joined a run leaves that run alone',
  async (how) => {
    const { opencode, server, rest, advance, aborts, input, publishUntil } = await working()
    const abort = new AbortController()
    const options = how === 'signal' ? { signal: abort.signal } : { timeoutMs: 3000 }
    const stream = opencode.prompt(input, options)
    const iterating = (async () => {
      for await (const _ of stream) if (_.type === 'replySettled') return 'settled'
      return 'left'
    })()
    await rest()
    await publishUntil(() => stream.joined === true)
    abort.abort()
    await advance(4000)
    expect(await iterating).toBe('left')
    server.publish(types.length)
    await advance(5000)
    expect([(await stream.result).outcome, aborts()]).toEqual(['completed', 0])
    await opencode.close()
  },
)

test('a note in a busy session has a reply of its own, once the server has it; cancelling it ends nothing', async () => {
  const { opencode, rest, aborts, input, publishUntil } = await working()
  const abort = new AbortController()
  const stream = opencode.prompt({ ...input, noReply: true }, { signal: abort.signal })
  await rest()
  expect(stream.reply).toBe(undefined)
  abort.abort()
  await publishUntil(() => stream.reply !== undefined)
  expect([(await stream.result).outcome, (await stream.result).messages, stream.joined]).toEqual([
    'completed',
    [],
    false,
  ])
  expect(aborts()).toBe(0)
  await opencode.close()
})

/** A prompt's own run, which another client stops, and then another client's run in the same session. */
async function settledThenBusy() {
  const stage = setStage({ scenario: 'abort-then-prompt', tells: '1.18.3' })
  const recorded = readRecording({ version: '1.18.33', scenario: 'abort-then-prompt' })
  const { types: events } = createRecordedServer({ bytes: recorded.bytes })
  const session = Object.keys(recorded.truth.sessions)[0] ?? ''
  stage.server.publish(events.indexOf('session.created') + 1)
  await stage.rest()
  const stop = new AbortController()
  const input = { sessionID: session, files: [{ url: 'data:text/plain,x', mime: 'text/plain' }] }
  const stream = stage.opencode.prompt(input, { signal: stop.signal })
  let newest: Reply | undefined
  const keep = ({ reply }: { readonly reply: Reply }): void => {
    newest = reply
  }
  stage.opencode.watch({}, { observe: () => [observing(keep)] })
  await stage.rest()
  const isBusyAgain = (): boolean => stream.reply?.phase === 'settled' && newest?.phase === 'working'
  while (!isBusyAgain() && stage.server.published < events.length) {
    stage.server.publish(1)
    await stage.rest()
  }
  const aborts = (): number => stage.server.posts.filter((post) => post.includes('/abort')).length
  return { ...stage, stream, stop, aborts, session, newest: () => newest }
}

test('once its run has ended, a stream aborts no newer run of its session', async () => {
  const { opencode, stream, stop, aborts, rest, newest } = await settledThenBusy()
  expect([stream.reply?.outcome, newest()?.phase]).toEqual(['aborted', 'working'])
  const ended = Promise.all([stream.abort(), opencode.abort(stream)])
  stop.abort()
  await rest()
  expect([aborts(), newest()?.phase, newest()?.aborting]).toEqual([0, 'working', undefined])
  expect((await ended)[0].outcome).toBe('aborted')
  await opencode.close()
})

test('a stream whose run could not be stopped aborts it again', async () => {
  let isRefusing = true
  const stage = setStage({
    scenario,
    tells: '1.18.3',
    between: async (request, answer) =>
      isRefusing && request.url.includes('/abort') ? new Response('no', { status: 400 }) : await answer(request),
  })
  stage.server.publish(begun)
  const stream = stage.opencode.prompt({ sessionID, files: [{ url: 'data:text/plain,x', mime: 'text/plain' }] })
  await stage.rest()
  void stream.abort()
  await stage.advance(60_000)
  expect((await stream.result).lostReason).toBe('not-stopped')
  isRefusing = false
  void stream.abort()
  await stage.rest()
  expect(stage.server.posts.filter((post) => post.includes('/abort'))).not.toEqual([])
  await stage.opencode.close()
})

test('no session is made for a prompt that was aborted before the stream was up', async () => {
  const stage = setStage({ scenario, tells: '1.18.3' })
  const abort = new AbortController()
  const stream = stage.opencode.prompt({ text: 'Hello.' }, { signal: abort.signal })
  abort.abort()
  await stage.rest()
  await stage.advance(2000)
  expect([(await stream.result).outcome, stage.server.posts]).toEqual(['aborted', []])
  await stage.opencode.close()
})

/** A prompt in a session at rest, on a server that keeps its message's id: the recorded prompt is another client's. */
async function atRest() {
  const stage = setStage({ scenario, tells: '1.18.33' })
  stage.server.publish(types.indexOf('session.created') + 1)
  await stage.rest()
  const stop = new AbortController()
  const stream = stage.opencode.prompt({ sessionID, text: 'Hello.' }, { signal: stop.signal })
  await stage.rest()
  expect([stream.joined, stream.reply?.promptIDs]).toEqual([false, []])
  const aborts = (): number => stage.server.posts.filter((post) => post.includes('/abort')).length
  return { ...stage, stop, stream, aborts }
}

test("the signal of a prompt that another client's prompt overtook leaves that run alone", async () => {
  const { opencode, server, rest, advance, stop, stream, aborts } = await atRest()
  stop.abort()
  await rest()
  server.publish(types.length)
  await rest()
  // The server never shows this prompt.
  await advance(40_000)
  expect(await stream.result).toMatchObject({ outcome: 'failed', error: { name: 'refused' }, messages: [] })
  expect(aborts()).toBe(0)
  await opencode.close()
})

test("a stop of a prompt that another client's prompt overtook leaves that run alone", async () => {
  const { opencode, server, rest, advance, stream, aborts } = await atRest()
  server.publish(begun - server.published)
  await rest()
  void stream.abort()
  await advance(3000)
  expect([stream.reply?.phase, aborts()]).toEqual(['waiting', 0])
  server.publish(types.length)
  // The server never shows this prompt.
  await advance(40_000)
  expect([(await stream.result).outcome, aborts()]).toEqual(['aborted', 0])
  await opencode.close()
})

test('a signal aborts a run that shows no prompt 2 s after the post', async () => {
  const { opencode, rest, advance, stop, aborts } = await atRest()
  stop.abort()
  await rest()
  expect(aborts()).toBe(0)
  await advance(2000)
  await rest()
  expect(aborts()).toBeGreaterThan(0)
  await opencode.close()
})
