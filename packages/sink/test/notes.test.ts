import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import type { Note } from '../src/inbound/bridge-channel.ts'
import { createNotes } from '../src/inbound/notes.ts'
import type { ChannelPort } from '../src/port/port.ts'
import { FileRefusal } from '../src/port/port-error.ts'
import { createFake, fakeRender } from '../src/testing/fake.ts'
import type { FakeOptions } from '../src/testing/fake-options.ts'
import { rest } from './scene.ts'

const chat = { id: 'chat' }

function begin(options: Omit<FakeOptions, 'clock'> = {}, change: (port: ChannelPort) => ChannelPort = (port) => port) {
  const clock = createHandClock()
  const fake = createFake({ clock, ...options })
  const port = change(fake.port)
  const notes = createNotes({ client: fake, clock, writerOf: () => ({ port, render: fakeRender }) })
  /** The result of a note once the clock has gone on. */
  async function after(ms: number, work: Promise<unknown>): Promise<unknown> {
    const ended = work.catch((error: unknown) => error)
    await clock.advance(ms, rest)
    return await ended
  }
  const posted = async (note: Partial<Note>, ms = 5000) =>
    await after(ms, notes.post({ chat, text: 'Hello.', ...note }))
  return { clock, fake, notes, posted, after }
}

test('a note is one loud message with its buttons, as a reply', async () => {
  const { fake, posted } = begin()
  const buttons = [[{ label: 'Yes', data: 'b:1' }]]
  expect(await posted({ buttons, replyTo: { id: '9' } })).toEqual([{ id: '1', postedAt: expect.any(Number) }])
  expect(fake.screen()).toMatchObject([{ text: 'Hello.', buttons, replyTo: '9', isSilent: false }])
})

test('the first message of a note mentions the people that it is to notify', async () => {
  const { fake, posted } = begin({ limits: { maxLength: 300 } })
  await posted({ text: 'word '.repeat(100), mentions: [{ id: 'U1', name: 'Ann' }] }, 60_000)
  const [first, ...others] = fake.screen().map(({ text }) => text.startsWith('@U1\n'))
  expect([first, others.length > 0, others.some(Boolean)]).toEqual([true, true, false])
})

test('a long note is several messages: the first replies, the last has the buttons', async () => {
  const { fake, posted } = begin({ limits: { maxLength: 300 } })
  const text = `\`\`\`ts\n${'const a = 1\n'.repeat(50)}\`\`\``
  const refs = await posted(
    { text, silent: true, replyTo: { id: '9' }, buttons: [[{ label: 'A', data: 'b' }]] },
    60_000,
  )
  const screen = fake.screen()
  expect(screen.map(({ id }) => ({ id }))).toMatchObject(Array.isArray(refs) ? refs.map(({ id }) => ({ id })) : [])
  expect(screen.length).toBeGreaterThan(2)
  for (const { text: shown, isSilent } of screen)
    expect([shown, isSilent]).toEqual([expect.stringMatching(/^```ts[\s\S]*```$/), true])
  expect(screen.map(({ replyTo }) => replyTo)).toEqual(['9', ...Array(screen.length - 1).fill(undefined)])
  expect(screen.map(({ buttons }) => buttons.length)).toEqual([...Array(screen.length - 1).fill(0), 1])
})

test('a note that would be delayed for too long fails at once, as one that may be posted later', async () => {
  const { clock, notes, fake } = begin({ faults: [{ call: 1, type: 'rate-limited', retryAfterMs: 60_000 }] })
  let failure: unknown
  const note = { chat, text: 'Hello.', until: clock.now() + 30_000 }
  notes.post(note).catch((error: unknown) => {
    failure = error
  })
  await clock.advance(1, rest)
  expect(failure).toMatchObject({ type: 'unreachable', message: expect.stringContaining('delay it for too long') })
  expect(fake.screen()).toEqual([])
})

test.each(['rate-limited', 'unreachable'] as const)('a note that was %s is posted later', async (type) => {
  const { fake, posted } = begin({ faults: [{ call: 1, type }] })
  await posted({})
  expect(fake.screen()).toHaveLength(1)
})

test('a note whose markup is refused is posted without it', async () => {
  const { fake, posted } = begin({ faults: [{ call: 1, type: 'unparsable' }] })
  await posted({})
  expect(fake.calls.map(({ result }) => result)).toEqual(['unparsable', 'done'])
})

test('a note that may be in the chat is not posted again', async () => {
  const { fake, posted } = begin({ faults: [{ call: 1, type: 'done' }] })
  expect(await posted({})).toMatchObject({ type: 'ambiguous' })
  expect(fake.screen()).toHaveLength(1)
})

test('the same key makes it safe to post again', async () => {
  const { fake, posted } = begin({ faults: [{ call: 1, type: 'done' }], limits: { idempotent: true } })
  expect(await posted({})).toEqual([{ id: '1', postedAt: expect.any(Number) }])
  expect(fake.screen()).toHaveLength(1)
})

test('a piece that turns out too long is cut shorter', async () => {
  const { fake, posted } = begin({ limits: { maxLength: 300 } }, (port) => ({
    ...port,
    limits: { ...port.limits, maxLength: 500 },
  }))
  await posted({ text: 'Word. '.repeat(100) }, 60_000)
  expect(
    fake
      .screen()
      .map(({ text }) => text.trim())
      .join(' '),
  ).toBe('Word. '.repeat(100).trim())
})

test('a note is given up when it makes no sense any more', async () => {
  const { clock, fake, notes, after } = begin({
    faults: Array.from({ length: 20 }, (_, at) => ({ call: at + 1, type: 'unreachable' as const })),
  })
  const until = clock.now() + 10_000
  expect(await after(20_000, notes.post({ chat, text: 'Late.', until }))).toMatchObject({ type: 'unreachable' })
  expect(fake.screen()).toEqual([])
})

test('a signal ends the wait', async () => {
  const { notes, fake, after } = begin({ faults: [{ call: 1, type: 'unreachable' }] })
  const abort = new AbortController()
  const ended = after(500, notes.post({ chat, text: 'Late.', signal: abort.signal }))
  await rest()
  abort.abort(new Error('stopped'))
  expect(await ended).toMatchObject({ message: 'stopped' })
  expect(fake.screen()).toEqual([])
})

test('rows with too many buttons go on in the next row', async () => {
  const { fake, posted } = begin({ limits: { buttons: { perRow: 2, rows: 3, label: 4, data: 8 } } })
  const row = ['one', 'two', 'three'].map((label) => ({ label, data: label }))
  await posted({ buttons: [row] })
  expect(fake.screen()[0]?.buttons.map((each) => each.map(({ label }) => label))).toEqual([['one', 'two'], ['thr…']])
  expect(await posted({ buttons: [row, row] })).toMatchObject({ type: 'refused' })
  expect(await posted({ buttons: [[{ label: 'A', data: 'too long!' }]] })).toMatchObject({ type: 'refused' })
})

test('a note without text is refused', async () => {
  const { posted } = begin()
  expect(await posted({ text: ' ' })).toMatchObject({ type: 'refused' })
})

test('an edit replaces text and buttons, also if it is not known to be made', async () => {
  const { fake, notes, posted, after } = begin({ faults: [{ call: 2, type: 'done' }] })
  await posted({ buttons: [[{ label: 'A', data: 'b' }]] })
  await after(5000, notes.edit({ id: '1' }, { chat, text: 'Done.' }))
  expect(fake.screen()).toMatchObject([{ text: 'Done.', buttons: [], edits: 2 }])
})

test('an edit that does not fit is refused, and so is one where nothing can be edited', async () => {
  const { notes, posted } = begin({ limits: { maxLength: 10 } })
  await posted({ text: 'Short.' })
  await expect(notes.edit({ id: '1' }, { chat, text: 'x'.repeat(11) })).rejects.toMatchObject({ type: 'too-long' })
  const fixed = begin({ lacks: ['edit'] })
  await fixed.posted({})
  await expect(fixed.notes.edit({ id: '1' }, { chat, text: 'B' })).rejects.toMatchObject({ type: 'refused' })
})

test('typing waits for no turn, rests during a pause of the platform, and never rejects', async () => {
  const { fake, notes, after } = begin({ faults: [{ call: 1, type: 'rate-limited', retryAfterMs: 3000 }] })
  await notes.typing(chat)
  expect(fake.isTyping()).toBe(true)
  const posting = notes.post({ chat, text: 'Hello.' })
  await rest()
  await notes.typing(chat)
  expect(fake.calls.filter(({ verb }) => verb === 'typing')).toHaveLength(1)
  await after(5000, posting)
  await notes.typing(chat)
  expect(fake.calls.filter(({ verb }) => verb === 'typing')).toHaveLength(2)
  const failing = begin({}, (port) => ({ ...port, typing: () => Promise.reject(new Error('no')) }))
  await expect(failing.notes.typing(chat)).resolves.toBeUndefined()
})

test('a note with a file is that file with a safe name, and its text as the caption', async () => {
  const { fake, posted } = begin()
  const file = { name: '../a b.diff', bytes: Buffer.from('+1\n') }
  expect(await posted({ text: 'The changes.', file, replyTo: { id: '9' } })).toMatchObject([{ id: '1' }])
  expect(fake.screen()).toMatchObject([{ text: 'The changes.', replyTo: '9', buttons: [] }])
  expect(fake.screen()[0]?.files).toEqual([
    { name: 'a-b.diff', mime: 'text/plain', bytes: file.bytes, caption: 'The changes.' },
  ])
})

test('a file that the platform refuses is refused in a sentence, and one that comes too late for the rate limit is not', async () => {
  const file = { name: 'a.png', mime: 'image/png', bytes: Buffer.from('1') }
  const refused = begin({ faults: [{ call: 1, type: 'refused' }] })
  const error = await refused.posted({ file })
  expect(error).toBeInstanceOf(FileRefusal)
  expect(error).toMatchObject({ type: 'refused', message: "The file a.png can't be sent to this chat." })
  const late = begin({ faults: [{ call: 1, type: 'rate-limited', retryAfterMs: 120_000 }] })
  expect(await late.posted({ file })).not.toBeInstanceOf(FileRefusal)
})

test('a note with a file is retried after a rate limit, and refused where there are no files', async () => {
  const file = { name: 'a.png', mime: 'image/png', bytes: Buffer.from('1') }
  const limited = begin({ faults: [{ call: 1, type: 'rate-limited' }] })
  await limited.posted({ file }, 30_000)
  expect(limited.fake.screen()[0]?.files).toMatchObject([{ name: 'a.png', mime: 'image/png' }])
  const without = begin({ lacks: ['upload'] })
  expect(await without.posted({ file })).toMatchObject({ type: 'refused', message: expect.stringContaining('a.png') })
})
