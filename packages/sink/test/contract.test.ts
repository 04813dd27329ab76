import { createHandClock } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { PortError } from '../src/port/port-error.ts'
import type { Stage, StageFault } from '../src/testing/contract/stage.ts'
import { type ChannelContractOptions, type ClauseName, portContract } from '../src/testing/contract.ts'
import { createFake, fakeRender } from '../src/testing/fake.ts'
import type { FakeFault, FakeOptions } from '../src/testing/fake-options.ts'
import { fileTextOf, rest } from './scene.ts'
import { beginning } from './timeline.ts'

const kinds: Readonly<Record<StageFault, FakeFault['type']>> = {
  'rate-limited': 'rate-limited',
  refused: 'refused',
  unreachable: 'unreachable',
  unanswered: 'done',
  unparsable: 'unparsable',
  fixed: 'fixed',
  undelivered: 'undelivered',
}

function stageOf(options: Omit<FakeOptions, 'clock' | 'faults'>): Stage {
  const clock = createHandClock(beginning)
  const faults: FakeFault[] = []
  const perChat = { calls: 1000, perMs: 1000 }
  const fake = createFake({
    clock,
    faults,
    lacks: options.lacks,
    stream: options.stream,
    lookUp: options.lookUp,
    reports: options.reports,
    limits: { perChat, ...options.limits },
  })
  return {
    port: fake.port,
    render: fakeRender,
    chat: { id: 'chat' },
    clock,
    pass: async (ms) => await clock.advance(ms, rest),
    screen: () =>
      fake.screen().map((message) => ({
        ...message,
        fileName: message.files[0]?.name,
        isPicture: message.files[0]?.mime === 'image/png',
        fileNames: message.files.map(({ name }) => name),
        fileText: fileTextOf(message),
      })),
    faults: ['rate-limited', 'refused', 'unreachable', 'unanswered', 'unparsable', 'fixed', 'undelivered'],
    limitMs: 2000,
    failNext: (fault) => {
      const calls = fake.calls.filter(({ verb }) => verb !== 'typing').length
      faults.push({ call: calls + 1, type: kinds[fault] })
    },
    writeText: () => ({ id: 'asked' }),
    deleteMessage: fake.remove,
    notifications: () => fake.notifications,
    mentions: {
      actor: { id: '5', name: 'Ann' },
      in: (id) => {
        const text = fake.screen().find((message) => message.id === id)?.text ?? ''
        return [...text.matchAll(/@(\d+)/g)].map(([, named = '']) => named)
      },
    },
    secrets: ['token'],
    close: async () => {},
  }
}

const unsought: ChannelContractOptions['skip'] = {
  'finds a post with an unknown result, or resolves with unknown': 'it looks nothing up',
}
const silent: ChannelContractOptions['skip'] = { 'reports later whether a post was delivered': 'it reports nothing' }
const previews: ChannelContractOptions['skip'] = {
  'appends to a stream, which can be edited once closed': 'it writes previews',
}
const onlyThere: ChannelContractOptions['skip'] = {
  'posts once per key': 'it is not idempotent',
  'shows an unconfirmed post once when it is retried with its key': 'it is not idempotent',
}
const unkeyed: ChannelContractOptions['skip'] = { ...silent, ...previews, ...onlyThere, ...unsought }
const unedited: ChannelContractOptions['skip'] = {
  'edits in place': 'nothing is edited',
  'treats an edit without changes as done': 'nothing is edited',
  'does not notify for edits': 'nothing is edited',
  'reports a message that is gone': 'nothing is edited',
  'reports a message that can no longer be edited': 'nothing is edited',
  'reports faults of edits and removals like those of posts': 'nothing is edited',
  'removes its status at the end': 'there is no status without edits',
}
const unremoved: ChannelContractOptions['skip'] = {
  removes: 'nothing can be removed',
  'treats the removal of a missing message as done': 'nothing can be removed',
}

const shapes: readonly [string, Omit<FakeOptions, 'clock'>, ChannelContractOptions['skip']][] = [
  ['that edits', {}, unkeyed],
  ['that is idempotent', { limits: { idempotent: true } }, { ...silent, ...previews, ...unsought }],
  ['that finds its posts', { lookUp: 'exact' }, { ...silent, ...previews, ...onlyThere }],
  ['that can only be asked whether it answers', { lookUp: 'probe' }, { ...silent, ...previews, ...onlyThere }],
  ['that reports what became of posts', { reports: true, lookUp: 'probe' }, { ...previews, ...onlyThere }],
  ['without edits', { limits: { edits: false }, lacks: ['edit', 'remove'] }, { ...unkeyed, ...unedited, ...unremoved }],
  [
    'with streams',
    { stream: 'append' },
    {
      ...silent,
      ...onlyThere,
      ...unsought,
      'writes a preview that is not a message': 'it has streams',
    },
  ],
  ['without removal', { lacks: ['remove'] }, { ...unkeyed, ...unremoved }],
  [
    'without buttons',
    { limits: { buttons: undefined } },
    {
      ...unkeyed,
      'shows buttons and removes them': 'there are none',
      'asks, and accepts a button press as the answer': 'there are none',
    },
  ],
  [
    'without typing, files and previews',
    { lacks: ['typing', 'upload', 'stream'] },
    {
      ...unkeyed,
      'starts and stops typing': 'it shows no typing',
      'posts a file with its caption': 'it takes no files',
      'posts a picture as a picture': 'it takes no files',
      'posts a file that only claims to be a picture as a file, or refuses it': 'it takes no files',
      'refuses a file that is too large or empty, with a sentence that names it': 'it takes no files',
      'reports faults of a file like those of posts': 'it takes no files',
      'reports a file with an unknown result, and does not repeat it': 'it takes no files',
      'posts an album in order, pictures and others': 'it takes no files',
      'shows the files of a reply in its order, each once': 'it takes no files',
      'shows each file once after a rate limit': 'it takes no files',
      'loses no file whose post has no response, and counts each copy': 'it takes no files',
      'posts nothing of an album that is refused or limited': 'it takes no files',
      'posts long code as a file that opens as text, whatever its language': 'it takes no files',
      'shows long code as text if its file is refused': 'it takes no files',
      'writes a preview that is not a message': 'it has none',
    },
  ],
]

describe.each(shapes)('a chat %s', (_, options, skip) => {
  const clauses = portContract({ name: 'it', setup: () => stageOf(options), skip })
  test.each(clauses.map(({ name, run }) => [name, run] as const))('%s', async (_, run) => await run())
})

describe('a contract', () => {
  const setup = (): Stage => stageOf({})
  const clauseOf = (name: ClauseName, skip: ChannelContractOptions['skip'], stage = setup) =>
    portContract({ name: 'it', setup: stage, skip })
      .find((clause) => clause.name.includes(name))
      ?.run()

  test('refuses a skip without a reason', () => {
    expect(() => portContract({ name: 'it', setup, skip: { removes: ' ' } })).toThrow('without a reason')
  })

  test('refuses a skip of an unknown clause', () => {
    const skip: object = { 'does nothing': 'why not' }
    expect(() => portContract({ name: 'it', setup, skip })).toThrow('Unknown clause to skip: "does nothing"')
  })

  test('refuses a skip of what the port has', async () => {
    await expect(clauseOf('removes', { removes: 'too lazy' })).rejects.toThrow('must not be skipped')
  })

  test('refuses a skip of a clause that holds', async () => {
    const skip = { 'shows what was posted': 'too lazy' }
    await expect(clauseOf('shows what was posted', skip)).rejects.toThrow('must not be skipped')
  })

  test('fails if the port lacks something and the clause is not skipped', async () => {
    const stage = (): Stage => stageOf({ lacks: ['remove'] })
    await expect(clauseOf('removes', {}, stage)).rejects.toThrow('Skip the clause with a reason')
  })

  test('finds a port that posts twice', async () => {
    const twice = (): Stage => {
      const stage = setup()
      const post: Stage['port']['post'] = async (bubble, options) => {
        await stage.port.post(bubble, options)
        return await stage.port.post(bubble, options)
      }
      return { ...stage, port: { ...stage.port, post } }
    }
    await expect(clauseOf('shows what was posted', {}, twice)).rejects.toThrow('the chat shows 2')
  })

  test('finds a port that drops the wait of a rate limit', async () => {
    const dropping = (): Stage => {
      const stage = setup()
      const post: Stage['port']['post'] = async (...given) => {
        return await stage.port.post(...given).catch(({ type, message }: PortError) => {
          throw new PortError(type, message)
        })
      }
      return { ...stage, port: { ...stage.port, post } }
    }
    const said = 'The reported wait is 1000 ms instead of 2000.'
    await expect(clauseOf('reports a rate limit with the time to wait', {}, dropping)).rejects.toThrow(said)
  })

  test('wants to know the wait of a rate limit, which must not be the default', async () => {
    for (const limitMs of [undefined, 1000]) {
      const stage = (): Stage => ({ ...setup(), limitMs })
      const said = `\`limitMs\` of the stage is ${limitMs}`
      await expect(clauseOf('reports a rate limit with the time to wait', {}, stage)).rejects.toThrow(said)
    }
  })

  test('finds a port that rejects with errors of its own', async () => {
    const wrong = (): Stage => ({
      ...setup(),
      port: { ...setup().port, post: () => Promise.reject(new Error('no')) },
    })
    await expect(clauseOf('reports a refusal', {}, wrong)).rejects.toThrow('something other than a PortError')
  })
})
