import type { AppendStream, StreamPiece } from '@reply/sink/channel'
import type { Task } from '@reply/sink/internal'
import { describe, expect, test } from 'vitest'
import { createSlackPort } from '../src/internal.ts'
import { editing, ending, open, posting } from './app.ts'

const piece = (text: string, more: Partial<StreamPiece> = {}): StreamPiece => ({ text, tasks: [], ...more })
const task = (id: string, status: Task['status'], title = `bash: ${id}`): Task => ({ id, title, status })

async function begin(...given: Parameters<typeof open>) {
  const opened = await open(...given)
  const { stream } = opened.port
  if (!stream) throw new Error('The port has no append stream.')
  const shown = () => opened.slack.screen('C1').filter(({ from }) => from === 'bot')
  return { ...opened, stream, shown }
}

async function openOne(stream: AppendStream, text = 'It') {
  return await stream.open(piece(text), posting)
}

describe('a stream', () => {
  test('is one message in its thread, made of chunks, that mentions no one', async () => {
    const { stream, shown, slack, root } = await begin()
    const ref = await stream.open(piece('It **begins', { tasks: [task('a', 'running')], plan: 'To do 0/2' }), posting)
    await stream.append(ref, piece('** and goes on'), editing)
    await stream.append(ref, piece('', { tasks: [task('a', 'done')] }), editing)
    expect(shown()).toMatchObject([{ isStreaming: true, text: 'It **begins** and goes on', threadTs: root }])
    await stream.close(ref, piece('.', { plan: 'To do 2/2' }), editing)
    expect(shown()).toMatchObject([
      {
        ts: ref.id,
        isStreaming: false,
        text: 'It **begins** and goes on.',
        plan: 'To do 2/2',
        tasks: [{ id: 'a', title: 'bash: a', status: 'complete' }],
      },
    ])
    expect(slack.notifications('C1')).toBe(0)
    expect(slack.calls.every(({ payload }) => payload.markdown_text === undefined)).toBe(true)
    expect(slack.calls[0]?.payload).toMatchObject({ recipient_user_id: 'U1', recipient_team_id: 'T0FAKE' })
  })

  test('says why a task failed, as far as there is room, and mentions no one there', async () => {
    const { stream, shown, slack } = await begin()
    const failed = (id: string): Task => ({ ...task(id, 'failed'), reason: `failed: <!channel> ${'x'.repeat(150)}` })
    const tasks = Array.from({ length: 10 }, (_, at) => failed(String(at)))
    const ref = await stream.open(piece('It', { tasks }), posting)
    await stream.close(ref, piece('€'.repeat(3000)), editing)
    const outputs = shown()[0]?.tasks.map(({ output }) => output) ?? []
    expect(outputs[0]?.replaceAll('\u2060', '')).toMatch(/^failed: <!channel> x+…$/)
    expect(outputs.filter((output) => output !== '').length).toBeGreaterThan(2)
    expect(outputs.at(-1)).toBe('')
    expect(shown()[0]?.tasks.every(({ status }) => status === 'error')).toBe(true)
    expect(slack.mentions).toEqual([])
  })

  test('mentions no one in its tasks and its plan, which the model also writes', async () => {
    const { stream, slack, shown } = await begin()
    const tasks = [task('a', 'running', 'bash: echo <!channel> <@U1>')]
    await stream.open(piece('It', { tasks, plan: 'Ask <!here> 0/2' }), posting)
    expect(slack.mentions).toEqual([])
    expect(shown()[0]?.plan.replaceAll('\u2060', '')).toBe('Ask <!here> 0/2')
  })

  test('gets no call for an empty append', async () => {
    const { stream, slack } = await begin()
    const ref = await stream.open(piece(''), posting)
    await stream.append(ref, piece(''), editing)
    await stream.close(ref, piece(''), editing)
    expect(slack.calls.map(({ method }) => method)).toEqual(['chat.startStream', 'chat.stopStream'])
  })

  test('is measured in bytes, and takes as much as its limit says', async () => {
    const { stream, shown } = await begin()
    expect([stream.measure('aä€👍'), stream.maxMs, stream.maxLength]).toEqual([10, 240_000, 9000])
    const text = '€'.repeat(3000)
    const tasks = Array.from({ length: 60 }, (_, index) =>
      task(String(index), 'running', `A title ${index} `.repeat(9)),
    )
    const ref = await stream.open(piece(text, { tasks }), posting)
    await stream.close(ref, piece('', { tasks: tasks.map((one) => ({ ...one, status: 'done' })) }), editing)
    const [only] = shown()
    expect(only?.text).toBe(text)
    expect(only?.tasks.length).toBeGreaterThan(10)
    expect(only?.tasks.every(({ status }) => status === 'complete')).toBe(true)
  })

  test('closed by Slack or a person is fixed, and can be edited', async () => {
    const { stream, shown, slack, port, bubble, clock, root } = await begin()
    const old = await openOne(stream)
    await clock.advance(300_000)
    expect(await ending(stream.append(old, piece('x'), editing))).toMatchObject({ type: 'fixed' })
    await port.edit?.(old, bubble('The whole.'), editing)
    const stopped = await openOne(stream)
    await slack.stop('C1', root)
    expect(await ending(stream.close(stopped, piece('x'), editing))).toMatchObject({ type: 'fixed' })
    await port.edit?.(stopped, bubble('All of it.'), editing)
    expect(shown().map(({ text }) => text)).toEqual(['The whole.', 'All of it.'])
  })

  test('that is still open can be edited later', async () => {
    const { stream, port, bubble } = await begin()
    const ref = await openOne(stream)
    expect(await ending(port.edit?.(ref, bubble('x'), editing))).toMatchObject({ type: 'unreachable' })
  })

  test('leaves the session processing when another one follows', async () => {
    const { stream, port, slack, root } = await begin()
    await port.typing?.(true, editing)
    await stream.close(await openOne(stream), piece(''), editing)
    expect(slack.session('C1', root)).toBe('processing')
    await port.typing?.(false, editing)
    await stream.close(await openOne(stream), piece(''), editing)
    expect(slack.session('C1', root)).toBe('active')
  })
})

describe('there are no streams', () => {
  test('in a workspace without them, and they are not tried again', async () => {
    const { stream, port, api, slack } = await begin({ features: { streams: false } })
    const failure = await ending(openOne(stream))
    expect(failure).toMatchObject({ type: 'unreachable', message: expect.stringContaining('feature_not_enabled') })
    expect(port.stream).toBeUndefined()
    expect(createSlackPort({ api, channelId: 'D1', threadTs: '1' }).stream).toBeUndefined()
    expect(slack.calls).toHaveLength(1)
  })

  test('in a channel that Slack refuses them for, while other channels keep theirs', async () => {
    const { stream, port, api, slack } = await begin()
    slack.inject({ method: 'chat.startStream', type: 'error', error: 'team_not_found' })
    expect(await ending(openOne(stream))).toMatchObject({ type: 'unreachable' })
    expect(port.stream).toBeUndefined()
    expect(createSlackPort({ api, channelId: 'D1', threadTs: '1' }).stream).toBeDefined()
  })

  test('without a recipient in a channel, while direct messages need none', async () => {
    const { api } = await open()
    expect(createSlackPort({ api, channelId: 'C1', threadTs: '1' }).stream).toBeUndefined()
    expect(createSlackPort({ api, channelId: 'D1', threadTs: '1' }).stream).toBeDefined()
  })
})
