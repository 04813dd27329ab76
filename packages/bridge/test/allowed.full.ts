import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { callTool, openCode2Version, type Scripts, sayText } from '@reply/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type BridgeStage, startStage } from './stage.ts'

const scripts: Scripts = {
  touch: { steps: [[callTool('bash', { command: 'touch a.txt', description: 'Touch' })], [sayText('It is touched.')]] },
  shell: {
    steps: [[callTool('bash', { command: "sh -c 'touch b.txt'", description: 'Touch' })], [sayText('It is done.')]],
  },
}

const [ann, bob, cat] = [1, 2, 3]

async function open(version?: string): Promise<BridgeStage> {
  const stage = await startStage({
    scripts,
    ...(version !== undefined && { version }),
    router: { messagesPerMinute: 1000 },
    permission: { bash: { '*': 'allow', 'touch *': 'ask', 'sh *': 'ask' } },
    people: {
      ann: { ids: ['tg:1'], may: ['prompt', 'approve'] },
      bob: { ids: ['tg:2'], may: ['prompt'] },
      cat: { ids: ['tg:3'], may: ['approve'] },
    },
    chats: [
      { id: ann, type: 'private', title: 'Ann' },
      { id: bob, type: 'private', title: 'Bob' },
      { id: cat, type: 'private', title: 'Cat' },
    ],
  })
  await stage.start()
  return stage
}

/** What the bot says next that has these words. */
async function said(stage: BridgeStage, chat: number, sent: string, words: string): Promise<string> {
  const before = stage.telegram.screen(chat).length
  stage.telegram.say(chat, sent)
  return await stage.seen(chat, (screen) => {
    return screen.slice(before).find((message) => message.from === 'bot' && message.text.includes(words))?.text
  })
}

/** Has it run, and waits for the ask that can be allowed. */
async function asked(
  stage: BridgeStage,
  prompt: string,
): Promise<{ readonly id: number; readonly labels: readonly string[] }> {
  const before = stage.telegram.screen(ann).length
  stage.telegram.say(ann, prompt)
  return await stage.seen(ann, (screen) => {
    const found = screen
      .slice(before)
      .map(({ messageId: id, buttons = [] }) => ({ id, labels: buttons.flat().map(({ text: label }) => label) }))
    // Under load it is first posted without what it would run, and can only be rejected.
    return found.find(({ labels }) => labels.includes('Allow once'))
  })
}

describe.each([
  ['OpenCode 1', undefined, 'touch *', 'bash'],
  ['OpenCode 2', openCode2Version, 'touch a.txt', 'shell'],
] as const)('on %s', (_, version, pattern, permission) => {
  let stage: BridgeStage
  const canRevoke = version !== undefined
  beforeAll(async () => {
    stage = await open(version)
  })
  beforeEach(() => {
    stage.errors.length = 0
  })
  afterAll(async () => await stage.close())

  // The rules of the bridge are the same on both.
  if (!canRevoke)
    test('nothing is listed before, and only to people who may approve', async () => {
      expect(await said(stage, ann, '/allowed', 'Nothing has been always allowed')).toBeTruthy()
      expect(await said(stage, cat, '/allowed', 'Nothing has been always allowed')).toBeTruthy()
      expect(await said(stage, bob, '/allowed', 'requires the right')).toContain('approve')
    })

  if (!canRevoke)
    test('what is allowed once, or rejected, is not listed', async () => {
      for (const [label, sign] of [
        ['Allow once', '✅'],
        ['Reject', '⏹️'],
      ] as const) {
        const { id } = await asked(stage, 'Touch it [scenario:touch]')
        await stage.telegram.press(ann, id, label).settled
        await stage.statusIs(ann, sign)
      }
      expect(await said(stage, ann, '/allowed', 'Nothing has been always allowed')).toBeTruthy()
    })

  test('what is allowed for always is listed with who, when, what and where, also after a restart', async () => {
    const { id, labels } = await asked(stage, 'Touch it [scenario:touch]')
    expect(labels).toContain('Always')
    await stage.telegram.press(ann, id, 'Always').settled
    await stage.statusIs(ann, '✅')
    await stage.stop()
    await stage.start()
    const list = await said(stage, ann, '/allowed', 'Always allowed on home')
    expect(list.replaceAll('\\', '')).toContain(pattern)
    expect(list).toMatch(new RegExp(`${permission} · Ann · \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d UTC`))
    expect(list.includes('lasts until the server restarts')).toBe(!canRevoke)
    expect(list.includes('did not confirm')).toBe(false)
  })

  if (!canRevoke)
    test('a shell is not offered for always, and a text can’t give it either', async () => {
      const { id, labels } = await asked(stage, 'Shell [scenario:shell]')
      expect(labels).toEqual(['Allow once', 'Reject'])
      const shown = stage.telegram.screen(ann).find(({ messageId }) => messageId === id)?.text
      expect(shown).toContain('"Always" is not offered, because sh can run anything.')
      await said(stage, ann, 'always', 'because sh can run anything')
      await stage.telegram.press(ann, id, 'Reject').settled
      await stage.statusIs(ann, '⏹️')
      expect(existsSync(join(stage.server.directory, 'b.txt'))).toBe(false)
    })

  if (canRevoke)
    test('revoked, by a command or a button, the server asks again', async () => {
      const file = join(stage.server.directory, 'a.txt')
      const isAskedAgain = async (): Promise<void> => {
        rmSync(file, { force: true })
        const { id } = await asked(stage, 'Touch it [scenario:touch]')
        expect(existsSync(file)).toBe(false)
        await stage.telegram.press(ann, id, 'Always').settled
        await stage.statusIs(ann, '✅')
      }
      await said(stage, ann, '/allowed revoke 7', 'is not listed')
      await said(stage, bob, '/allowed revoke 1', 'requires the right')
      expect(await said(stage, cat, '/allowed revoke 1', 'asks again')).toContain('touch a.txt')
      await said(stage, ann, '/allowed', 'Nothing has been always allowed')
      await isAskedAgain()
      await said(stage, cat, '/allowed', 'Always allowed on home')
      const list = stage.telegram.screen(cat).findLast(({ text: words }) => words.includes('Always allowed'))
      stage.telegram.press(cat, list?.messageId ?? 0, 'Revoke 1')
      await stage.seen(cat, (screen) => screen.filter(({ text: words }) => words.includes('asks again')).length === 2)
      await isAskedAgain()
      expect(stage.errors).toEqual([])
    })

  if (canRevoke)
    test('what was revoked elsewhere is listed no more', async () => {
      const authorization = `Basic ${Buffer.from('opencode:42:secret').toString('base64')}`
      const address = `${stage.server.url}/api/permission/saved`
      const { data } = (await (await fetch(address, { headers: { authorization } })).json()) as {
        data: { id: string }[]
      }
      for (const { id } of data) await fetch(`${address}/${id}`, { method: 'DELETE', headers: { authorization } })
      await said(stage, ann, '/allowed', 'Nothing has been always allowed')
    })

  if (!canRevoke)
    test('a server that can’t revoke is not said to have done so', async () => {
      await said(stage, ann, '/allowed revoke 1', 'lasts until the server restarts')
      expect(await said(stage, ann, '/allowed', 'Always allowed on home')).toMatch(/touch \\?\*/)
    })

  if (!canRevoke)
    test('an answer that the server refuses is not listed, one that it may have is', async () => {
      await stage.stop()
      let type = 'refused'
      await stage.start({
        connectTo: (opencode) => ({
          ...opencode,
          answer: async () => {
            throw Object.assign(new Error('The server did not take it.'), { type })
          },
        }),
      })
      await said(stage, ann, '/allowed', 'Always allowed on home')
      const lines = async () =>
        (await said(stage, ann, '/allowed', 'Always allowed on home')).match(/^\d+\. .*$/gm) ?? []
      const before = (await lines()).length
      await stage.server.restart()
      const { id } = await asked(stage, 'Touch it [scenario:touch]')
      await stage.telegram.press(ann, id, 'Always').settled
      expect(await lines()).toHaveLength(before)
      type = 'unreachable'
      await stage.telegram.press(ann, id, 'Always').settled
      expect((await lines()).filter((line) => line.includes('did not confirm'))).toHaveLength(1)
    })
})
