import { describe, expect, test } from 'vitest'
import type { SlackOptions } from '../src/slack/index.ts'
import { workspace } from './workspace.ts'

const recipient = { recipient_user_id: 'U1', recipient_team_id: 'T0FAKE' }
const chunk = (text: string) => [{ type: 'markdown_text', text }]
const task = (id: string, more: object = {}) => ({
  type: 'task_update',
  id,
  title: `Task ${id}`,
  status: 'in_progress',
  ...more,
})

async function begun(options: Partial<SlackOptions> = {}, fields: object = { chunks: chunk('It') }) {
  const begin = await workspace(options)
  const { call, slack } = begin
  const root = slack.say('C1', 'root')
  const started = await call('chat.startStream', { channel: 'C1', thread_ts: root, ...recipient, ...fields })
  const { ts } = started
  const add = (more: object) => call('chat.appendStream', { channel: 'C1', ts, ...more })
  const stop = (more: object = {}) => call('chat.stopStream', { channel: 'C1', ts, ...more })
  const shown = () => slack.screen('C1', root).filter(({ from }) => from === 'bot')
  return { ...begin, root, ts, started, add, stop, shown }
}

describe('a stream', () => {
  test('grows in one message, shows the latest state of its tasks, and ends', async () => {
    const { add, stop, shown, slack, root } = await begun()
    await add({ chunks: [task('a'), task('b'), { type: 'plan_update', title: 'Plan' }] })
    await add({ chunks: [...chunk(' grows'), task('a', { status: 'complete' })] })
    expect(shown()).toMatchObject([{ text: 'It grows', isStreaming: true, plan: 'Plan' }])
    expect(shown()[0]?.tasks.map(({ id, status }) => [id, status])).toEqual([
      ['a', 'complete'],
      ['b', 'in_progress'],
    ])
    expect(slack.session('C1', root)).toBe('processing')
    await stop({ chunks: chunk('.') })
    expect(shown()).toMatchObject([{ text: 'It grows.', isStreaming: false }])
    expect([slack.session('C1', root), slack.notifications('C1')]).toEqual(['active', 0])
    expect((await add({ chunks: chunk('x') })).error).toBe('message_not_in_streaming_state')
  })

  test('ends after five minutes, even with appends, and can be updated only then', async () => {
    const { add, stop, shown, call, ts, clock } = await begun()
    const update = () => call('chat.update', { channel: 'C1', ts, text: 'whole' })
    await clock.advance(299_000)
    expect((await add({ chunks: chunk(' still') })).ok).toBe(true)
    expect((await update()).error).toBe('streaming_state_conflict')
    await clock.advance(1000)
    expect([(await add({ chunks: chunk('x') })).error, (await stop()).error]).toEqual([
      'message_not_in_streaming_state',
      'message_not_in_streaming_state',
    ])
    expect(shown()).toMatchObject([{ text: 'It still', isStreaming: false }])
    await update()
    expect(shown()).toMatchObject([{ text: 'whole' }])
  })

  test('takes 11,000 bytes in total: titles count once, details and output twice', async () => {
    const { add, shown } = await begun({}, { chunks: chunk('é'.repeat(4000)) })
    expect((await add({ chunks: chunk('x'.repeat(3001)) })).error).toBe('msg_too_long')
    expect((await add({ chunks: [task('a', { details: 'x'.repeat(1500) })] })).error).toBe('msg_too_long')
    expect((await add({ chunks: [task('a', { details: 'x'.repeat(1000), output: 'x'.repeat(400) })] })).ok).toBe(true)
    expect(shown()[0]?.text).toHaveLength(4000)
  })

  test('takes either chunks or text, from start to end', async () => {
    const { add } = await begun()
    expect((await add({ markdown_text: 'x' })).error).toBe('streaming_mode_mismatch')
    expect((await add({ markdown_text: 'x', chunks: chunk('y') })).error).toBe('markdown_text_conflict')
    expect((await add({})).error).toBe('no_text')
    expect((await add({ chunks: [{ type: 'song' }] })).error).toBe('invalid_chunks')
    expect((await add({ chunks: [task('a', { status: 'odd' })] })).error).toBe('invalid_chunks')
    const text = await begun({}, { markdown_text: 'x' })
    expect((await text.add({ chunks: chunk('y') })).error).toBe('streaming_mode_mismatch')
  })

  test('needs a thread, and in a channel also a recipient', async () => {
    const { call, slack } = await begun()
    const root = slack.say('C2', 'root')
    const begin = (fields: object) => call('chat.startStream', { channel: 'C2', chunks: chunk('x'), ...fields })
    expect((await begin(recipient)).error).toBe('invalid_arguments')
    expect((await begin({ thread_ts: root })).error).toBe('missing_recipient_user_id')
    expect((await begin({ thread_ts: root, recipient_user_id: 'U1' })).error).toBe('missing_recipient_team_id')
    const own = slack.say('D1', 'root')
    expect((await begin({ channel: 'D1', thread_ts: own })).ok).toBe(true)
  })

  test('does not notify, but its mentions are counted even when split', async () => {
    const { add, slack } = await begun()
    await add({ chunks: chunk(' <!chan') })
    expect(slack.mentions).toEqual([])
    await add({ chunks: chunk('nel>') })
    expect(slack.mentions).toEqual(['<!channel>'])
  })

  test('can mention people in its tasks and its plan as well as in its text', async () => {
    const { add, slack } = await begun()
    await add({ chunks: [task('a', { title: '<@U1>' }), task('b', { details: '<@U2>', output: '<@U3>' })] })
    await add({ chunks: [{ type: 'plan_update', title: '<!here>' }] })
    expect(slack.mentions).toEqual(['<@U1>', '<@U2>', '<@U3>', '<!here>'])
  })

  test('cannot end with an unknown session status', async () => {
    const { stop, shown } = await begun()
    expect(await stop({ session_status: 'done' })).toMatchObject({ error: 'invalid_status' })
    expect(shown()).toMatchObject([{ isStreaming: true }])
  })
})

test('Stop ends the streams of a thread, and later calls get an error', async () => {
  const { add, stop, shown, slack, root } = await begun()
  expect(await slack.stop('C1', root)).toBe(false)
  expect([(await add({ chunks: chunk('x') })).error, (await stop()).error]).toEqual([
    'stopped_by_user',
    'stopped_by_user',
  ])
  expect(shown()).toMatchObject([{ text: 'It', isStreaming: false }])
  await expect(slack.stop('C2', '1')).rejects.toThrow(/no Stop button/)
})

test('a workspace can lack streams', async () => {
  const { started } = await begun({ features: { streams: false } })
  expect(started.error).toBe('feature_not_enabled')
})
