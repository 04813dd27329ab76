import { describe, expect, test } from 'vitest'
import { createMirrors } from '../src/config/mirrors.ts'
import { queueDecoders, rowDecoders } from '../src/failed/unreadable-rows.ts'
import { placeNamed } from '../src/place.ts'
import { allShards, keyInShard, keyOutOfShard, listenerShard, shardOf } from '../src/state/shard-of.ts'

const alone = createMirrors([])

describe('the shard of a place', () => {
  test.each([
    ['private chats of Telegram', (index: number) => ({ channel: 'tg', chat: { id: String(100_000 + index) } })],
    ['groups of Telegram', (index: number) => ({ channel: 'tg', chat: { id: String(-1_001_000_000_000 - index) } })],
    ['channels of Slack', (index: number) => ({ channel: 'sl', chat: { id: `C${(index * 7919).toString(36)}` } })],
  ])('spreads 10,000 %s evenly', (_, placeOf) => {
    const counts = new Map(allShards.map((shard) => [shard, 0]))
    for (let index = 0; index < 10_000; index++) {
      const shard = shardOf(placeOf(index), alone)
      counts.set(shard, (counts.get(shard) ?? Number.NaN) + 1)
    }
    expect(counts.size).toBe(64)
    const mean = 10_000 / 64
    for (const count of counts.values()) {
      expect(count).toBeGreaterThan(mean * 0.5)
      expect(count).toBeLessThan(mean * 1.5)
    }
  })

  test('is the same in each process, because it is part of what is stored', () => {
    const places = [
      { channel: 'tg', chat: { id: '1' } },
      { channel: 'tg', chat: { id: '2' } },
      { channel: 'sl', chat: { id: 'C1' } },
    ]
    expect(places.map((place) => shardOf(place, alone))).toMatchInlineSnapshot(`
      [
        "24",
        "49",
        "60",
      ]
    `)
  })

  test('is that of the chat for all its threads, and depends on the channel', () => {
    const chat = { channel: 'sl', chat: { id: 'C1' } }
    const threads = Array.from({ length: 100 }, (_, index) => ({ ...chat, chat: { id: 'C1', thread: String(index) } }))
    expect(new Set([chat, ...threads].map((place) => shardOf(place, alone))).size).toBe(1)
    const channels = Array.from({ length: 100 }, (_, index) => ({ ...chat, channel: `channel${index}` }))
    expect(new Set(channels.map((place) => shardOf(place, alone))).size).toBeGreaterThan(30)
  })

  test('is that of the first mirror for all mirrors and their threads, and no other chat moves', () => {
    for (let index = 0; index < 100; index++) {
      const first = { channel: 'tg', chat: { id: String(index) } }
      const second = { channel: 'sl', chat: { id: `C${index}` } }
      const mirrors = createMirrors([[`tg:${index}`, `sl:C${index}`]])
      const thread = { ...second, chat: { ...second.chat, thread: '7' } }
      const shards = [first, second].map((place) => shardOf(place, mirrors))
      expect(shards).toEqual([shardOf(first, alone), shardOf(first, alone)])
      expect(shardOf(thread, mirrors)).toBe(shards[0])
      const other = { channel: 'tg', chat: { id: `9${index}` } }
      expect(shardOf(other, mirrors)).toBe(shardOf(other, alone))
    }
  })

  test('is that of the listener for chats of a channel that posts only where it listens, and for all that they mirror', () => {
    const groups = [
      ['tg:1', 'wa:2'],
      ['wa:3', 'sl:C3', 'wb:3'],
      ['tg:4', 'sl:C4'],
    ]
    const mirrors = createMirrors(groups, undefined, (channel) => channel === 'wa' || channel === 'wb')
    const places = ['tg:1', 'wa:2', 'wa:3', 'sl:C3', 'sl:C3/7', 'wb:3', 'wa:5', 'wb:6'].map(placeNamed)
    expect(places.map((place) => shardOf(place, mirrors))).toEqual(places.map(() => listenerShard))
    for (const place of ['tg:4', 'sl:C4', 'tg:2', 'sl:C1/7'].map(placeNamed))
      expect(shardOf(place, mirrors)).toBe(shardOf(place, createMirrors(groups)))
  })

  test('is that of its first id for a chat whose id changed', () => {
    const group = { channel: 'tg', chat: { id: '-7' } }
    const supergroup = { channel: 'tg', chat: { id: '-1007' } }
    const mirrors = createMirrors([], (place) =>
      place.chat.id === '-1007' ? { ...place, chat: { ...place.chat, id: '-7' } } : place,
    )
    expect(shardOf(supergroup, mirrors)).toBe(shardOf(group, alone))
    expect(shardOf(supergroup, alone)).not.toBe(shardOf(group, alone))
  })
})

describe('a key', () => {
  /** The kinds that are listed for one shard. All others are found by their whole keys, or are the same for all chats. */
  const inShards = [
    'execution/',
    'log/',
    'newest/',
    'unknown/',
    'inbox/',
    'prompts/',
    'backlog/',
    'failed/',
    'wake/',
    'notice/',
    'suspect/',
    'stopping/',
  ]
  const decoded = [...Object.keys(rowDecoders), ...Object.keys(queueDecoders)]
  /** What a bridge writes and does not decode. */
  const others = [
    ...['failed/', 'wake/', 'home/', 'ours/', 'author/', 'kept/', 'moved/', 'late/', 'buttons/', 'importing', 'layout'],
    ...['acted/', 'rang/'],
  ]

  test.each([...new Set([...decoded, ...others])])(
    'of the kind %s is the same after it got its shard and lost it',
    (kind) => {
      const isSharded = inShards.includes(kind)
      for (const rest of ['', 'tg/1/', 'tg/1//abc', '07/1/', 'delivery/tg/1//abc', '%2F/ü/\u0000']) {
        const key = kind.endsWith('/') ? `${kind}${rest}` : kind
        for (const shard of allShards) {
          const stored = keyInShard(shard, key)
          expect(keyOutOfShard(shard, stored)).toBe(key)
          expect(stored === key).toBe(!isSharded)
        }
      }
    },
  )

  test('has its shard behind its kind, so that a list of the kind in one shard has no other', () => {
    expect(keyInShard('07', 'execution/tg/1//abc')).toBe('execution/07/tg/1//abc')
    expect(keyInShard('07', 'execution/')).toBe('execution/07/')
    expect(keyInShard('07', 'failed/delivery/tg/1//abc')).toBe('failed/07/delivery/tg/1//abc')
    expect(keyInShard('07', 'suspect/x')).toBe('suspect/07/x')
    expect(keyInShard('07', 'route/tg/1/')).toBe('route/tg/1/')
    expect(keyOutOfShard('08', 'execution/07/tg/1//abc')).toBe('execution/07/tg/1//abc')
  })
})
