import { appendFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHandClock, type HandClock } from '@reply/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadConfig } from '../src/config/load.ts'
import type { BridgeConfig } from '../src/config/schema.ts'
import { commonRights, fileStampOf, watchConfig } from '../src/config/watch.ts'

const ann = { ids: ['tg:1'], may: ['prompt', 'approve'] }
const bob = { ids: ['tg:2'], may: ['prompt'] }
const config = {
  servers: { home: { url: 'http://127.0.0.1:4096' } },
  channels: { tg: { type: 'telegram', token: { env: 'TOKEN' } } },
  people: { ann },
}
const text = (more: object = {}): string => JSON.stringify({ ...config, ...more })

let folder: string
let path: string
let clock: HandClock
let stop = (): void => {}
let lists: BridgeConfig['people'][]
let notices: string[]
let errors: Error[]
/** How often the file was read. */
let looks: number

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-watch-'))
  path = join(folder, 'reply.json')
  clock = createHandClock()
  lists = []
  notices = []
  errors = []
  looks = 0
})
afterEach(() => {
  stop()
  rmSync(folder, { recursive: true })
})

async function watching() {
  const watch = watchConfig({
    ...{ path, clock, stamp: await fileStampOf(path), config: loadConfig(path, {}).config },
    load: () => {
      looks += 1
      return loadConfig(path, {}).config
    },
    setPeople: (people) => lists.push(people),
    onNotice: (notice) => notices.push(notice),
    onError: (error) => errors.push(error),
  })
  stop = watch.stop
  watch.start()
  return watch
}

/** Lets time pass until it is so. Files are looked at in real time. */
async function passes(isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    await clock.advance(1000)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const names = (): readonly string[] => lists.map((people) => Object.keys(people).join())

describe('the people are read anew', () => {
  beforeEach(() => writeFileSync(path, text()))

  test.each<[string, () => void]>([
    ['is written in its place', () => writeFileSync(path, text({ people: { ann, bob } }))],
    [
      'is replaced by an editor',
      () => {
        writeFileSync(join(folder, '.reply.json.swp'), text({ people: { ann, bob } }))
        renameSync(join(folder, '.reply.json.swp'), path)
      },
    ],
    [
      'is removed first, and then written',
      () => {
        rmSync(path)
        writeFileSync(path, text({ people: { ann, bob } }))
      },
    ],
  ])('when the file %s', async (_, change) => {
    await watching()
    change()
    await passes(() => lists.length > 0)
    expect(lists).toEqual([{ ann, bob }])
    expect(notices).toEqual([`Reloaded the people and their rights from ${path}: ann, bob.`])
    writeFileSync(path, text({ people: {} }))
    await passes(() => lists.length > 1)
    expect(lists[1]).toEqual({})
    expect(notices[1]).toMatch(/: none\.$/)
    expect(errors).toEqual([])
  })

  test('when a link to its folder is turned, as where Kubernetes mounts a ConfigMap', async () => {
    rmSync(path)
    const put = (name: string, more: object): void => {
      mkdirSync(join(folder, name))
      writeFileSync(join(folder, name, 'reply.json'), text(more))
      symlinkSync(name, join(folder, '..data_tmp'))
      renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
    }
    put('..1', {})
    symlinkSync(join('..data', 'reply.json'), path)
    await watching()
    put('..2', { people: { bob } })
    await passes(() => lists.length > 0)
    expect(names()).toEqual(['bob'])
  })

  test('at once when it is asked for', async () => {
    const watch = await watching()
    writeFileSync(path, text({ people: { bob } }))
    await watch.readNow()
    expect(names()).toEqual(['bob'])
    await watch.readNow()
    expect([names(), notices.length]).toEqual([['bob'], 1])
  })

  test('only once a file is whole: half of one raises no error', async () => {
    await watching()
    const whole = text({ people: { ann, bob } })
    writeFileSync(path, whole.slice(0, 100))
    await passes(() => looks > 0)
    appendFileSync(path, whole.slice(100))
    await passes(() => lists.length > 0)
    expect([names(), errors]).toEqual([['ann,bob'], []])
  })
})

describe('a file that can not be used', () => {
  beforeEach(() => writeFileSync(path, text({ people: { ann, bob } })))

  test.each<[string, () => void, string]>([
    ['is not JSON', () => writeFileSync(path, '{ "people": {'), 'is not JSON'],
    ['is empty', () => writeFileSync(path, ''), 'is not JSON'],
    ['is gone', () => rmSync(path), 'does not exist'],
    [
      'lists a person wrongly',
      () => writeFileSync(path, text({ people: { ann: { may: ['all'] } } })),
      'people.ann.ids',
    ],
    [
      'misspells its people',
      () => writeFileSync(path, JSON.stringify({ ...config, people: undefined, peeple: {} })),
      'peeple',
    ],
  ])('because it %s changes nothing, and is reported once', async (_, change, words) => {
    await watching()
    change()
    await passes(() => errors.length > 0)
    expect(errors[0]).toMatchObject({ type: 'config' })
    expect(errors[0]?.message).toContain(words)
    expect(errors[0]?.message).toContain('Until you fix it, people and rights stay as they were.')
    writeFileSync(path, text({ people: { ann } }))
    await passes(() => lists.length > 0)
    expect([names(), errors.length]).toEqual([['ann'], 1])
  })

  test('gives no one anything, and takes away what it does not list any more', async () => {
    await watching()
    const router = { busy: 'never' }
    writeFileSync(
      path,
      text({ router, people: { ann: { ...ann, may: ['prompt', 'admin'] }, cat: { ...ann, ids: ['tg:3'] } } }),
    )
    await passes(() => errors.length > 0)
    expect(lists).toEqual([{ ann: { ids: ['tg:1'], may: ['prompt'] } }])
    expect(errors[0]?.message).toContain('router.busy')
    expect(errors[0]?.message).toContain('people keep only the rights that it still lists')
    writeFileSync(path, text({ people: { ann, bob } }))
    await passes(() => lists.length > 1)
    expect(lists[1]).toEqual({ ann, bob })
  })

  test('never quotes a secret that someone wrote into it', async () => {
    await watching()
    writeFileSync(
      path,
      text({
        channels: { tg: { type: 'telegram', token: 'very-secret' } },
        servers: { home: { url: 'x', password: 'very-secret' } },
      }),
    )
    await passes(() => errors.length > 0)
    expect(errors[0]?.message).not.toContain('very-secret')
  })
})

test('what takes a restart is named once, and is not taken', async () => {
  writeFileSync(path, text())
  await watching()
  const more = { servers: { home: { url: 'http://127.0.0.1:5000' } }, router: { busy: 'steer' } }
  writeFileSync(path, text(more))
  await passes(() => notices.length > 0)
  expect(notices).toEqual([`${path} has changes in servers, router. They take effect after a restart.`])
  writeFileSync(path, text({ ...more, people: { bob } }))
  await passes(() => lists.length > 0)
  expect(notices.slice(1)).toEqual([`Reloaded the people and their rights from ${path}: bob.`])
})

test.each([
  ['another folder', './state', './other'],
  ['another kind of state', './state', { type: 'postgres', url: { env: 'DATABASE_URL' } }],
  [
    'another setting of its kind',
    { type: 'postgres', url: { env: 'DATABASE_URL' }, schema: 'one' },
    { type: 'postgres', url: { env: 'DATABASE_URL' }, schema: 'two' },
  ],
])('a state in %s takes a restart', async (_, before, after) => {
  writeFileSync(path, text({ state: before }))
  const watch = await watching()
  await watch.readNow()
  expect(notices).toEqual([])
  writeFileSync(path, text({ state: after }))
  await watch.readNow()
  expect(notices).toEqual([`${path} has changes in state. They take effect after a restart.`])
  expect(errors).toEqual([])
})

test('ids on a channel that comes with a restart are left out until then, and all others are taken', async () => {
  writeFileSync(path, text())
  await watching()
  const channels = { ...config.channels, sl: { type: 'slack', token: { env: 'SLACK' } } }
  const cat = { ids: ['sl:U3'], may: ['prompt'] }
  writeFileSync(path, text({ channels, people: { ann: { ...ann, ids: ['tg:1', 'sl:U1'] }, bob, cat } }))
  await passes(() => notices.length > 1)
  expect([lists, errors]).toEqual([[{ ann, bob }], []])
  expect(notices[1]).toBe(`${path} has changes in channels. They take effect after a restart.`)
})

test('what the program itself took away is not given back by a file that can not be used', async () => {
  writeFileSync(path, text({ people: { ann, bob } }))
  const watch = await watching()
  watch.onPeopleReplaced({ bob: { ids: ['tg:2'], may: ['prompt'] } })
  writeFileSync(path, text({ people: { ann }, router: { busy: 'never' } }))
  await passes(() => errors.length > 0)
  expect(lists).toEqual([{}])
})

test('nothing is read after a stop', async () => {
  writeFileSync(path, text())
  const watch = await watching()
  watch.stop()
  writeFileSync(path, text({ people: { bob } }))
  await watch.readNow()
  await clock.advance(10_000)
  expect([lists, clock.pending]).toEqual([[], 0])
})

test('two lists have in common what both give the same ids', () => {
  const before = { ann: { ids: ['tg:1', 'sl:U1'], may: ['prompt', 'approve', 'admin'] }, bob } as BridgeConfig['people']
  const after = {
    one: { ids: ['tg:1'], may: ['prompt', 'approve'] },
    two: { ids: ['sl:U1'], may: ['prompt', 'admin'] },
  }
  expect(commonRights(before, after as BridgeConfig['people'])).toEqual({
    ann: { ids: ['tg:1', 'sl:U1'], may: ['prompt'] },
  })
})
