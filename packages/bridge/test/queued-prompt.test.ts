import { describe, expect, test } from 'vitest'
import {
  albumWaitMs,
  begun,
  isLatePart,
  isOfAlbum,
  isSurelyOlder,
  type QueuedPrompt,
  wasSentBefore,
  withAlbumPart,
} from '../src/state/queued-prompt.ts'

const prompt = (more: Partial<QueuedPrompt>): QueuedPrompt => ({
  ...{ id: '1', channel: 'own', chat: { id: '1' }, actor: { id: '1', name: 'Ann' }, text: 'Also this', files: [] },
  ...{ isCommand: false, receivedAt: 100_000, messageRef: { id: '1' } },
  ...more,
})

describe('whether a prompt was sent before a run began', () => {
  const now = 100_000
  const ageMs = 10_000

  test('is told by the platform’s time, with two seconds of doubt for its steering', () => {
    const isOld = (postedAt: number): boolean =>
      isSurelyOlder(prompt({ messageRef: { id: '1', postedAt } }), ageMs, now)
    expect([87_999, 88_000, 90_000, 100_000].map(isOld)).toEqual([true, false, false, false])
  })

  test('is never sure without one: it steers what runs when it is heard', () => {
    expect(isSurelyOlder(prompt({}), ageMs, now)).toBe(false)
    expect(isSurelyOlder(prompt({ receivedAt: 0 }), ageMs, now)).toBe(false)
  })
})

test('an album waits until its last message has been known for a second, or as long as its channel says', () => {
  const album = prompt({ albumID: 'a' })
  expect([0, 400, 1000, 100_000].map((knownForMs) => albumWaitMs(album, knownForMs))).toEqual([1000, 600, 0, 0])
  expect(albumWaitMs({ ...album, albumGapMs: 4000 }, 400)).toBe(3600)
  expect(albumWaitMs(prompt({}), 0)).toBe(0)
})

test('an album with the message that completes it waits no longer than that, whichever of them is handled last', () => {
  const part = prompt({ albumID: 'a', text: 'Look.', albumGapMs: 30_000 })
  const last = prompt({ albumID: 'a', text: '', receivedAt: 9 })
  expect(withAlbumPart(part, part)).toMatchObject({ text: 'Look.\nLook.', albumGapMs: 30_000 })
  expect(withAlbumPart(part, last)).toMatchObject({ text: 'Look.', albumGapMs: 1000, receivedAt: 9 })
  expect(withAlbumPart(last, part)).toMatchObject({ text: 'Look.', albumGapMs: 1000 })
})

describe('whether a message is of an album', () => {
  const sent = (albumID: string | undefined, postedAt?: number, more: Partial<QueuedPrompt> = {}) =>
    prompt({ albumID, messageRef: { id: '1', postedAt }, ...more })
  const album = sent('a', 100_000)

  test('is told by its id, however long the album takes to arrive', () => {
    expect(isOfAlbum(album, sent('a', 1_000_000))).toBe(true)
    expect(isOfAlbum(album, sent('a'))).toBe(true)
    expect(isOfAlbum(album, sent('b', 100_000))).toBe(false)
    expect(isOfAlbum(sent(undefined), sent(undefined))).toBe(false)
  })

  test('is told by the times, too, where all files of a chat have the same id', () => {
    const guessed = { albumSpreadMs: 60_000 }
    expect(isOfAlbum(album, sent('a', 160_000, guessed))).toBe(true)
    expect(isOfAlbum(album, sent('a', 160_001, guessed))).toBe(false)
    expect(isOfAlbum(album, sent('a', undefined, guessed))).toBe(true)
  })

  test('is told of a late one, unless its text may be another request', () => {
    expect(isLatePart(album, sent('a', 110_000, { text: 'Also' }))).toBe(true)
    expect(isLatePart(album, sent('a', 110_000, { text: 'Also', albumSpreadMs: 60_000 }))).toBe(false)
    expect(isLatePart(album, sent('a', 110_000, { text: '', albumSpreadMs: 60_000 }))).toBe(true)
    expect(isLatePart(album, sent('a', 110_000, { actor: { id: '2', name: 'Bob' } }))).toBe(false)
  })
})

describe('whether a message was sent before another one', () => {
  const sent = (id: string, postedAt?: number) => prompt({ messageRef: { id, postedAt } })

  test.each([
    ['Telegram’s numbers', '99', '100'],
    ['Slack’s times', '1700000000.000099', '1700000000.000100'],
    ['Slack’s times of another second', '1699999999.999999', '1700000000.000001'],
    ['Discord’s snowflakes, which are too large for a double', '1500000000000000776', '1500000000000000777'],
  ])('is told by %s, whatever their times are', (_, first, second) => {
    expect(wasSentBefore(sent(first, 2000), sent(second, 1000))).toBe(true)
    expect(wasSentBefore(sent(second, 1000), sent(first, 2000))).toBe(false)
    expect(wasSentBefore(sent(first), sent(first))).toBe(false)
  })

  test('is told by the times of the platform if the ids are no numbers', () => {
    expect(wasSentBefore(sent('wamid.b', 1000), sent('wamid.a', 2000))).toBe(true)
    expect(wasSentBefore(sent('wamid.a', 2000), sent('wamid.b', 1000))).toBe(false)
    expect(wasSentBefore(sent('wamid.a', 1000), sent('wamid.b', 1000))).toBe(false)
    expect(wasSentBefore(sent('13345224609.738474920.8088930838d', 1000), sent('7', 2000))).toBe(true)
  })

  test('is not told for one without a time', () => {
    expect(wasSentBefore(sent('wamid.a'), sent('wamid.b', 1000))).toBe(false)
    expect(wasSentBefore(sent('wamid.a', 1000), sent('7'))).toBe(false)
  })
})

test('a message that is begun is stored as its owner would have stored it', () => {
  expect(begun(prompt({ isUnbegun: true }))).toEqual(prompt({}))
})
