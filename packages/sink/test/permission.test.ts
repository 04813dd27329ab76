import type { PermissionAsk, Reply } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { offerOf } from '../src/asks/offer.ts'
import { detailsOf } from '../src/asks/permission.ts'
import { toPolicy } from '../src/config.ts'
import { emptyLedger } from '../src/ledger/ledger.ts'
import { texts } from '../src/texts.ts'
import { call, permits, replyWith, saidIn, viewOf } from './make.ts'
import { pressing } from './pressing.ts'
import { createScene, fileTextOf, ledgerOf, type Scene, type SceneOptions } from './scene.ts'

const key = 'chat/ses_1/msg_1'

function asking(...asks: readonly PermissionAsk[]): Reply {
  return replyWith([], { phase: 'blocked', asks })
}

function running(command: string, more: Partial<PermissionAsk> = {}): PermissionAsk {
  return permits({ patterns: [command], call: { tool: 'bash', input: { command } }, ...more })
}

function privately(options: SceneOptions = {}): Scene {
  return createScene({ ...options, sink: { chat: { id: 'chat', kind: 'private' }, ...options.sink } })
}

const labelsOn = ({ fake }: Scene) => fake.screen().map(({ buttons }) => buttons.flat().map(({ label }) => label))
const textsOn = ({ fake }: Scene) => fake.screen().map(({ text }) => text)
const every = ['Allow once', 'Always', 'Reject']
const long = Array.from({ length: 40 }, (_, at) => `echo line ${at} of a long command`).join('\n')

/** Half a minute, in steps, so that everything that waits for no time gets done. */
async function settle(scene: Scene): Promise<void> {
  for (let step = 0; step < 60; step++) await scene.pass(500)
}

async function offered(scene: Scene, ask: PermissionAsk, isPress = false): Promise<boolean> {
  const ledger = await ledgerOf(scene, key)
  return offerOf(ask, { ledger, policy: toPolicy(), texts, mayAllow: true, isPress }).once
}

describe('a permission', () => {
  test('shows a command verbatim, with its line breaks and what always covers', async () => {
    const command = "A=1 [[ -v 'a[$(touch X)]' ]]\nls # all `of` it"
    const scene = privately()
    scene.show(asking(running(command, { title: 'bash: ls' })))
    await scene.pass(1000)
    expect(textsOn(scene)).toEqual([
      `❓ Allow this? bash\n\n\`\`\`bash\n${command}\n\`\`\`\n\n"Always" also allows calls that fit \`touch *\`, for everyone who uses this server, until it is revoked.`,
    ])
    expect(labelsOn(scene)).toEqual([every])
  })

  test('keeps a command with fences in its block', async () => {
    const scene = privately()
    scene.show(asking(running('echo "\n```\n**bold**\n````\n"')))
    await scene.pass(1000)
    expect(textsOn(scene)[0]).toContain('`````bash\necho "\n```\n**bold**\n````\n"\n`````')
  })

  test('offers always only if it covers something', async () => {
    const scene = privately()
    scene.show(asking(permits({ always: [] })))
    await scene.pass(1000)
    expect(labelsOn(scene)).toEqual([['Allow once', 'Reject']])
    expect(textsOn(scene)[0]).not.toContain('Always')
  })

  test.each([
    ['bash *', '"Always" is not offered, because bash can run anything.'],
    ['*', '"Always" is not offered, because it would allow every call of bash.'],
    ['/*', '"Always" is not offered, because /* has no limit.'],
  ])('does not offer always for %s, and says why, to a press and a text alike', async (pattern, why) => {
    const scene = privately()
    const ask = permits({ always: ['touch *', pattern] })
    scene.show(asking(ask))
    await scene.pass(1000)
    expect(labelsOn(scene)).toEqual([['Allow once', 'Reject']])
    expect(textsOn(scene)[0]?.replaceAll('\\', '')).toContain(why)
    expect(textsOn(scene)[0]).not.toContain('also allows')
    const [once] = scene.fake.screen()[0]?.buttons.flat() ?? []
    const allowing = pressing(scene, once?.data ?? '')
    const press = { ...allowing, token: allowing.token.replace(/once$/, 'always') }
    const text = { text: 'always', messageRef: { id: 'typed', postedAt: scene.clock.now() } }
    expect(await scene.sink().readAnswer(press)).toMatchObject({ type: 'error' })
    expect(await scene.sink().readAnswer(text)).toMatchObject({ type: 'error', error: expect.stringContaining(why) })
    expect((await scene.sink().readAnswer(allowing))?.type).toBe('answer')
  })

  test('says of a sub-agent that it may act unasked, and of nothing else', async () => {
    for (const [permission, isSaid] of [
      ['task', true],
      ['subagent', true],
      ['edit', false],
    ] as const) {
      const scene = privately()
      scene.show(asking(permits({ permission, always: ['x *'] })))
      await scene.pass(2000)
      expect(textsOn(scene).join().replaceAll('\\', '').includes(texts.subagentActs)).toBe(isSaid)
    }
  })

  test.each([
    ['this command again', { always: ['touch a'] }, '"Always" also allows this command again, '],
    ['patterns', { always: ['touch *', 'ls *'] }, '"Always" also allows calls that fit `touch *`, `ls *`, '],
    [
      'an option of the agent',
      { patterns: [], always: ['Yes, for this session'] },
      '"Always" chooses "Yes, for this session", ',
    ],
    ['more than a sentence holds', { always: ['x'.repeat(205), 'y'] }, `**\n\`\`\`\n${'x'.repeat(205)}\ny\n\`\`\``],
    ['what a code span would change', { always: ['a  b', 'c`d'] }, '**\n```\na  b\nc`d\n```'],
  ])('says what "always" would allow: %s', async (_, more, text) => {
    const scene = privately()
    scene.show(asking(running('touch a', more)))
    await scene.pass(3000)
    expect(labelsOn(scene).at(-1)).toEqual(every)
    expect(textsOn(scene).join('\n')).toContain(text)
    expect(textsOn(scene).join('\n')).toContain('for everyone who uses this server, until it is revoked')
  })

  test('does not say what "always" would allow where only "Reject" is offered', async () => {
    const shared = createScene()
    shared.show(asking(permits({ always: ['npm *'] })))
    const unknown = privately()
    unknown.show(asking(permits({ always: ['npm *'], call: undefined })))
    for (const scene of [shared, unknown]) {
      await scene.pass(3000)
      expect(labelsOn(scene)).toEqual([['Reject']])
      expect(textsOn(scene)[0]).not.toContain('npm *')
    }
  })

  test('names the reach of always', () => {
    expect(texts.alwaysCovers).toContain('for everyone who uses this server, until it is revoked')
    expect(texts.allowedAlways).toContain('for everyone who uses this server')
  })

  test('makes invisible characters visible', async () => {
    const scene = privately()
    scene.show(asking(running('ls \u202e\u200b\ue000', { title: 'bash: \u202els' })))
    await scene.pass(1000)
    expect(textsOn(scene)[0]).toContain('ls \\u202e\\u200b\\ue000')
    expect(textsOn(scene)[0]).not.toMatch(/[\u202e\u200b\ue000]/)
  })

  test('goes on in further messages, and has its buttons on the last', async () => {
    const scene = privately()
    const ask = running(long)
    scene.show(asking(ask))
    await settle(scene)
    const texts = textsOn(scene)
    expect(texts.length).toBeGreaterThan(2)
    const code = texts.flatMap((text) => [...text.matchAll(/```bash\n([\s\S]*?)\n```/g)].map(([, body]) => body))
    expect(code.join('\n')).toBe(long)
    expect(labelsOn(scene)).toEqual([...texts.slice(1).map(() => []), every])
    expect(scene.fake.notifications).toBe(1)
    expect(await offered(scene, ask)).toBe(true)
  })

  test('is posted as a file if it takes more than five messages', async () => {
    const scene = privately()
    const command = `${long}\n${long}\n${long}`
    const ask = running(command)
    scene.show(asking(ask))
    await settle(scene)
    const [file, message] = scene.fake.screen()
    expect(file && fileTextOf(file)).toContain(command)
    expect(message?.text).toContain('request.txt')
    expect(labelsOn(scene)).toEqual([[], every])
    expect(await offered(scene, ask)).toBe(true)
  })

  test('can only be rejected if it is too long and the port takes no files', async () => {
    const scene = privately({ fake: { lacks: ['upload'] } })
    const ask = running(`${long}\n${long}\n${long}`)
    scene.show(asking(ask))
    await settle(scene)
    expect(labelsOn(scene)).toEqual([['Reject']])
    expect(textsOn(scene)[0]).toContain(texts.notAllShown)
    expect(await offered(scene, ask, true)).toBe(false)
  })

  test('shows a long diff as a document first', async () => {
    const content = Array.from({ length: 60 }, (_, at) => `line ${at} of it`).join('\n')
    const call = { tool: 'write', input: { filePath: '/a.ts', content } }
    const scene = privately({ sink: { policy: { documentLength: 500 }, chat: { id: 'chat', kind: 'private' } } })
    scene.show(asking(permits({ permission: 'edit', title: 'edit: a.ts', call })))
    await settle(scene)
    expect(scene.fake.screen()[0]?.files[0]?.name).toBe('request.diff')
    expect(scene.fake.screen().map(fileTextOf)[0]).toContain('line 59 of it')
    expect(labelsOn(scene).flat()).toEqual(every)
  })

  test.each([1, 2, 3])(
    'can be allowed only once message %i of it is confirmed, however long that takes',
    async (call) => {
      const faults = Array.from({ length: 9 }, (_, more) => ({ call: call + more, type: 'ambiguous' as const }))
      const scene = privately({ fake: { faults } })
      const ask = running(long)
      scene.show(asking(ask))
      await settle(scene)
      expect(labelsOn(scene).flat()).not.toContain('Allow once')
      expect(await offered(scene, ask)).toBe(false)
      expect(await offered(scene, ask, true)).toBe(false)
      for (let minute = 0; minute < 8; minute++) await scene.pass(60_000)
      expect(labelsOn(scene).at(-1)).toEqual(every)
    },
  )

  test('can only be rejected when its file was refused', async () => {
    const scene = privately({ fake: { faults: [{ call: 1, type: 'refused' }] } })
    const ask = running(`${long}\n${long}\n${long}`)
    scene.show(asking(ask))
    await settle(scene)
    expect(labelsOn(scene)).toEqual([['Reject']])
    expect(await offered(scene, ask)).toBe(false)
  })

  test.each([true, false])('says what "always" would allow only where that is offered: %s', async (isOffered) => {
    const content = Array.from({ length: 60 }, (_, at) => `line ${at} of it`).join('\n')
    const call = { tool: 'write', input: { filePath: '/a.ts', content } }
    const faults = isOffered ? [] : [{ call: 1, type: 'refused' as const }]
    const sink = { policy: { documentLength: 500 }, chat: { id: 'chat', kind: 'private' } } as const
    const scene = privately({ fake: { faults }, sink })
    scene.show(asking(permits({ permission: 'edit', title: 'edit: a.ts', call })))
    await settle(scene)
    expect(labelsOn(scene).at(-1)).toEqual(isOffered ? every : ['Reject'])
    expect(textsOn(scene).at(-1)?.includes('"Always" also allows')).toBe(isOffered)
  })

  test('can only be rejected in a shared chat without a list of people who may answer', async () => {
    const scene = createScene()
    scene.show(asking(permits()))
    await scene.pass(1000)
    expect(labelsOn(scene)).toEqual([['Reject']])
    expect(textsOn(scene)[0]).toContain(texts.notAllowedHere)
  })

  test.each(['answered', 'rejected', 'withdrawn'] as const)('keeps its content when it is %s', async (status) => {
    const scene = privately()
    scene.show(asking(running(long)))
    await settle(scene)
    const before = textsOn(scene)
    scene.show(asking(running(long, { status, ...(status === 'answered' && { reply: 'once' }) })))
    await settle(scene)
    expect(textsOn(scene).slice(0, -1)).toEqual(before.slice(0, -1))
    expect(textsOn(scene).at(-1)).toContain(before.at(-1))
    const end = { answered: '✅ Allow once', rejected: '🚫 Rejected', withdrawn: 'No longer needed.' }[status]
    expect(textsOn(scene).at(-1)?.endsWith(end)).toBe(true)
    expect(labelsOn(scene).flat()).toEqual([])
  })

  test('is not posted if it was answered before', async () => {
    const scene = privately({ fake: { faults: [{ call: 1, type: 'unreachable' }] } })
    scene.show(asking(permits()))
    await scene.pass(500)
    scene.show(asking(permits({ status: 'answered', reply: 'once' })))
    await settle(scene)
    expect(textsOn(scene)).toEqual([])
  })
})

describe('a permission with unknown input', () => {
  const unknown = permits({ call: undefined })

  test('is shown when the input arrives, with buttons for it', async () => {
    const scene = privately()
    scene.show(asking(unknown))
    await scene.pass(1000)
    expect(textsOn(scene)).toEqual([])
    scene.show(asking(permits()))
    await scene.pass(1000)
    expect(labelsOn(scene)).toEqual([every])
  })

  test('can only be rejected until then, and then gets another message with other tokens', async () => {
    const scene = privately()
    scene.show(asking(unknown))
    await scene.pass(3000)
    expect(labelsOn(scene)).toEqual([['Reject']])
    expect(textsOn(scene)[0]).toContain(texts.waitingForInput)
    expect(await offered(scene, unknown)).toBe(false)
    const before = scene.fake.screen()[0]?.buttons[0]?.[0]?.data
    scene.show(asking(permits()))
    await scene.pass(3000)
    expect(textsOn(scene)[0]).toContain(texts.superseded)
    expect(labelsOn(scene)).toEqual([[], every])
    expect(scene.fake.screen()[1]?.buttons.flat().at(-1)?.data).not.toBe(before)
  })

  test('can be allowed if the policy says so', async () => {
    const policy = { allowUnseen: true }
    const scene = privately({ sink: { policy, chat: { id: 'chat', kind: 'private' } } })
    scene.show(asking(unknown))
    await scene.pass(3000)
    expect(labelsOn(scene)).toEqual([every])
    const ledger = await ledgerOf(scene, key)
    expect(offerOf(unknown, { ledger, policy, texts, mayAllow: true })).toEqual({ once: true, always: true })
  })

  test('leaves the screen unchanged after a restart until the input is known again', async () => {
    const scene = privately()
    scene.show(asking(permits()))
    await scene.pass(1000)
    const before = scene.fake.screen()
    scene.restart()
    scene.show(asking(unknown))
    await scene.pass(5000)
    scene.show(asking(permits()))
    await scene.pass(5000)
    expect(scene.fake.screen()).toEqual(before)
  })
})

describe('a permission that comes back', () => {
  test('with other content gets other tokens, and the old message says so', async () => {
    const scene = privately()
    scene.show(asking(permits()))
    await scene.pass(1000)
    const old = scene.fake.screen()[0]?.buttons.flat()[0]?.data ?? ''
    const other = running('rm -r /')
    scene.show(asking(other))
    await scene.pass(3000)
    expect(textsOn(scene)[0]).toContain(texts.superseded)
    expect(labelsOn(scene)).toEqual([[], every])
    expect(scene.fake.screen()[1]?.buttons.flat()[0]?.data.split('.')[0]).not.toBe(old.split('.')[0])
    expect(await offered(scene, permits())).toBe(false)
    expect(await offered(scene, other)).toBe(true)
  })
})

test('nothing is offered before anything is shown', () => {
  const facts = { ledger: emptyLedger, policy: toPolicy(), texts, mayAllow: true }
  expect(offerOf(permits(), facts)).toMatchObject({ once: false, always: false, why: texts.notAllShown })
  expect(offerOf(permits(), { ...facts, isPress: true }).once).toBe(false)
})

describe('without buttons', () => {
  const limits = { buttons: undefined }

  test('one permission is shown at a time', async () => {
    const scene = privately({ fake: { limits } })
    const [first, second] = [running('one'), running('two', { requestID: 'per_2' })]
    scene.show(asking(first, second))
    await settle(scene)
    expect(textsOn(scene)).toHaveLength(1)
    expect(textsOn(scene)[0]).toContain('Reply 1 to allow it once, 2 to allow it always, or 3 to reject it.')
    scene.show(asking({ ...first, status: 'answered', reply: 'once' }, second))
    await settle(scene)
    expect(textsOn(scene)).toHaveLength(2)
    expect(textsOn(scene)[1]).toContain('two')
  })
})

test('tool lines show hidden characters', () => {
  const hidden = call('bash', { status: 'error', error: 'no \u202e way', title: 'ls \u200b-l' })
  const [line] = saidIn(viewOf(replyWith([hidden]), { mode: 'sealed' }), 'notice')
  expect(line).toContain('ls \\\\u200b')
  expect(line).toContain('no \\\\u202e way')
})

test('metadata of any depth is shown at once, cut off at an unreadable depth', () => {
  let metadata: Readonly<Record<string, unknown>> = { deepest: true }
  for (let depth = 0; depth < 20_000; depth++) metadata = { a: metadata }
  const details = detailsOf(permits({ call: undefined, metadata: { first: 'here', metadata } }), texts)
  const text = details.map((detail) => detail.text).join('\n')
  expect(text).toContain('"first": "here"')
  expect(text).toContain('…')
  expect(text.length).toBeLessThan(20_000)
})
