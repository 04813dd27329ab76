import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import {
  callTool,
  holdAnswer,
  launchOpencode,
  type OpencodeConfig,
  type OpencodeServer,
  openCode2Password,
  type ScriptedModel,
  type Scripts,
  sayText,
  startModel,
} from '@reply/testing'
import { isOpenCode2 } from '@reply/testing/internal'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Client, connect, type PromptInput, type ReplyError, type ReplyStream, textOf } from '../../src/index.ts'
import { configLines as firstLines } from '../../src/source/opencode1/guard.ts'
import { configLines as secondLines } from '../../src/source/opencode2/guard.ts'

/** One script for each way to act, and some that only read. */
const scriptsFor = (page: string): Scripts => {
  const bash = callTool('bash', { command: 'touch bash.txt', description: 'Touch' })
  const done = [sayText('Done.')]
  return {
    bash: { steps: [[bash], done] },
    // OpenCode's parser finds no command in these, so it asks for none.
    redirect: { steps: [[callTool('bash', { command: '> bash.txt', description: 'Touch' })], done] },
    quoted: {
      steps: [[callTool('bash', { command: `[[ 'a[$(touch bash.txt)0]' -eq 0 ]]`, description: 'Test' })], done],
    },
    edit: { steps: [[callTool('write', { filePath: 'edit.txt', content: 'x' })], done] },
    fetch: { steps: [[callTool('webfetch', { url: page, format: 'text' })], done] },
    outside: { steps: [[callTool('read', { filePath: '/etc/hostname' })], done] },
    status: { steps: [[callTool('bash', { command: 'git status', description: 'Status' })], done] },
    remove: { steps: [[callTool('bash', { command: 'rm kept.txt', description: 'Remove' })], done] },
    secrets: { steps: [[callTool('read', { filePath: '.env' })], done] },
    read: { steps: [[callTool('read', { filePath: 'kept.txt' })], done] },
    child: {
      steps: [[callTool('task', { description: 'Touch', prompt: '[scenario:edit]', subagent_type: 'general' })], done],
    },
    held: { steps: [[sayText('One'), holdAnswer('held')]] },
    steered: { steps: [[sayText('One'), holdAnswer('steered')]] },
    plain: { steps: [done] },
  }
}

export interface GuardStage {
  readonly opencode: Client
  readonly server: OpencodeServer
  readonly model: ScriptedModel
  /** How often the page of `[scenario:fetch]` was read. */
  hits(): number
  /** Calls the server as another client would. */
  call(method: string, route: string, body?: object): Promise<unknown>
  close(): Promise<void>
}

export async function openGuardStage(version: string, config: OpencodeConfig = {}): Promise<GuardStage> {
  let hits = 0
  const web = createServer((_, response) => {
    hits++
    response.end('A page.')
  })
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve))
  const address = web.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const second = isOpenCode2(version)
  const scripts = scriptsFor(`http://127.0.0.1:${port}/`)
  const model = await startModel({ scripts, fallback: 'plain', generation: second ? 2 : 1 })
  const server = await launchOpencode({
    model,
    version,
    files: { 'kept.txt': 'kept', '.env': 'SECRET=1' },
    config: {
      ...config,
      command: {
        sub: { template: '[scenario:edit] $ARGUMENTS', description: 'A sub-agent', subtask: true, agent: 'general' },
        greet: { template: '[scenario:plain] $ARGUMENTS', description: 'Greets' },
      },
      ...(!second && { extra: { snapshot: false, ...config.extra } }),
    },
  })
  const opencode = connect({
    url: server.url,
    directory: server.directory,
    connectTimeoutMs: 600_000,
    ...(second && { password: openCode2Password }),
  })
  return {
    opencode,
    server,
    model,
    hits: () => hits,
    call: async (method, route, body) => {
      const url = new URL(`${server.url}${route}`)
      if (!second) url.searchParams.set('directory', server.directory)
      const authorization = `Basic ${Buffer.from(`opencode:${openCode2Password}`).toString('base64')}`
      const headers = { authorization, 'content-type': 'application/json' }
      const answer = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) })
      const said = await answer.text()
      if (answer.ok) return JSON.parse(said)
      throw new Error(`${method} ${route} answered ${answer.status}: ${said.slice(0, 300)}`)
    },
    close: async () => {
      await opencode.close()
      await server.stop()
      await model.close()
      web.close()
    },
  }
}

/** Rejects whatever is asked. Returns the permissions that were asked, and how it ended. */
export async function rejecting(opencode: Client, stream: ReplyStream) {
  const asked: string[] = []
  for await (const { ask } of stream.filter(['permissionAsked'])) {
    if (ask.type !== 'permission') continue
    asked.push(ask.permission)
    // Another stream of the same run may have been first.
    await opencode.reject(ask).catch((error: ReplyError) => expect(error.type).toBe('already-resolved'))
  }
  const reply = await stream.result
  return { asked, sessionID: reply.sessionID, error: reply.error, outcome: reply.outcome, text: textOf(reply) }
}

const config = (lines: string): Record<string, unknown> => JSON.parse(`{${lines}}`)

/** OpenCode 1 whose sessions can't take a tool away: its config has to ask. */
export function testGuardedOld(version: string): void {
  describe(`a guarded prompt on OpenCode ${version}`, () => {
    test('is refused without settings for permissions, before a session is created', async () => {
      const stage = await openGuardStage(version)
      const { opencode } = stage
      const { sessionID } = await rejecting(opencode, opencode.prompt({ text: '[scenario:plain]' }))
      for (const input of [{}, { sessionID }]) {
        const stream = opencode.prompt({ ...input, text: '[scenario:quoted]', guarded: true })
        const { error } = await rejecting(opencode, stream)
        expect(error).toMatchObject({ name: 'unguarded', message: expect.stringContaining(firstLines) })
      }
      expect(await opencode.sessions()).toHaveLength(1)
      expect(existsSync(join(stage.server.directory, 'bash.txt'))).toBe(false)
      await stage.close()
    })
  })
  testOwnRules(version, { adds: false })
}

/** What OpenCode 1 of a version does with guarded prompts, by its default config. */
export function testGuarded(version: string): void {
  describe(`a guarded prompt on OpenCode ${version} without settings for permissions`, () => {
    let stage: GuardStage
    beforeAll(async () => {
      stage = await openGuardStage(version)
    })
    afterAll(async () => await stage.close())
    const run = async (scenario: string, input: Partial<PromptInput> = {}) => {
      const { opencode } = stage
      return await rejecting(opencode, opencode.prompt({ text: `[scenario:${scenario}]`, guarded: true, ...input }))
    }
    const isThere = (name: string): boolean => existsSync(join(stage.server.directory, name))

    test('without the guard, a command runs unasked: that is what it is for', async () => {
      expect(await run('status', { guarded: false })).toMatchObject({ asked: [], outcome: 'completed' })
    })

    test.each(['bash', 'redirect', 'quoted'])('has no shell: %s', async (scenario) => {
      expect(await run(scenario)).toMatchObject({ asked: [], outcome: 'completed' })
      expect(isThere('bash.txt')).toBe(false)
    })

    test.each([
      ['edit', 'edit'],
      ['fetch', 'webfetch'],
      ['outside', 'external_directory'],
      ['secrets', 'read'],
      ['child', 'task'],
    ])('asks before it acts: %s', async (scenario, permission) => {
      expect((await run(scenario)).asked).toEqual([permission])
      expect([isThere('bash.txt'), isThere('edit.txt'), stage.hits()]).toEqual([false, false, 0])
    })

    test('a pending fetch, which newer servers can list no permissions beside, holds up neither a client nor a stop', async () => {
      const { opencode, server } = stage
      const stream = opencode.prompt({ text: '[scenario:fetch]', guarded: true })
      for await (const { ask } of stream.filter(['permissionAsked'])) if (ask.type === 'permission') break
      const errors: ReplyError[] = []
      const other = connect({
        url: server.url,
        directory: server.directory,
        onError: (error) => errors.push(error),
      })
      await other.ready
      expect((await other.reply(stream.reply?.sessionID ?? ''))?.phase).not.toBe('settled')
      await other.close()
      expect(errors).toEqual([])
      await stream.abort()
      expect([(await stream.result).outcome, stage.hits()]).toEqual(['aborted', 0])
    })

    test('reads the project unasked', async () => {
      expect(await run('read')).toMatchObject({ asked: [], outcome: 'completed', text: 'Done.' })
    })

    test('does what a person allows', async () => {
      const stream = stage.opencode.prompt({ text: '[scenario:fetch]', guarded: true })
      for await (const { ask } of stream.filter(['permissionAsked', 'askChanged']))
        if (ask.type === 'permission' && ask.call) await stage.opencode.answer(ask, 'once').catch(() => {})
      expect(await stream.result).toMatchObject({ outcome: 'completed' })
      expect(stage.hits()).toBe(1)
    })

    test('refuses a command that starts a sub-agent, which nothing would guard', async () => {
      const command = async (input: { command: string; agent?: string; sessionID?: string }) =>
        await rejecting(stage.opencode, stage.opencode.command({ ...input, arguments: 'x', guarded: true }))
      const { sessionID } = await run('plain')
      // A command without an agent of its own is answered by the one that it is given, which may be a sub-agent.
      const given = { command: 'greet', agent: 'general' }
      for (const input of [{ command: 'sub' }, { command: '/sub' }, { command: 'sub', sessionID }, given])
        expect(await command(input)).toMatchObject({ outcome: 'failed', error: { name: 'unguarded' } })
      expect(isThere('bash.txt')).toBe(false)
      expect(await command({ command: 'greet' })).toMatchObject({ outcome: 'completed' })
    })

    test('refuses parts that start a sub-agent, and tools', () => {
      const { opencode } = stage
      const text = '[scenario:plain]'
      for (const input of [
        { text, parts: [{ type: 'agent' as const, name: 'general' }] },
        { text, parts: [{ type: 'subtask' as const, prompt: 'x', description: 'x', agent: 'general' }] },
        { text, tools: { bash: true } },
      ])
        expect(() => opencode.prompt({ ...input, guarded: true })).toThrow(/^A guarded prompt takes no/)
    })

    test('guards a session that an unguarded prompt began, and a fork of a guarded one', async () => {
      const { opencode } = stage
      const begun = await run('plain', { guarded: false })
      const fork = await opencode.fork((await run('plain')).sessionID)
      for (const { sessionID } of [begun, fork]) {
        expect((await run('edit', { sessionID })).asked).toEqual(['edit'])
        expect((await run('edit', { sessionID })).asked).toEqual(['edit'])
        expect((await run('quoted', { sessionID })).asked).toEqual([])
      }
      expect([isThere('edit.txt'), isThere('bash.txt')]).toEqual([false, false])
    })

    test('waits for a run that began unguarded, also with its second prompt', async () => {
      const { opencode, model } = stage
      const first = opencode.prompt({ text: '[scenario:held]' })
      await model.held('held')
      const sessionID = first.reply?.sessionID ?? ''
      const input = { sessionID, text: '[scenario:edit]', guarded: true }
      const second = rejecting(opencode, opencode.prompt(input))
      // Its rules are there, and the run doesn't know them.
      await expect.poll(() => stage.call('GET', `/session/${sessionID}`)).toHaveProperty('permission')
      const third = rejecting(opencode, opencode.prompt(input))
      const read = async () => JSON.stringify(await stage.call('GET', `/session/${sessionID}/message`))
      expect(await read()).not.toContain('scenario:edit')
      model.release('held')
      expect(await first.result).toMatchObject({ outcome: 'completed', promptIDs: [expect.any(String)] })
      const ends = [await second, await third]
      expect(isThere('edit.txt')).toBe(false)
      expect(ends.map(({ error }) => error)).toEqual([undefined, undefined])
      expect(ends.flatMap(({ asked }) => asked)).toContain('edit')
    })

    test('joins a run that began guarded', async () => {
      const { opencode, model } = stage
      const first = opencode.prompt({ text: '[scenario:steered]', guarded: true })
      await model.held('steered')
      const sessionID = first.reply?.sessionID ?? ''
      const second = opencode.prompt({ sessionID, text: '[scenario:edit]', guarded: true })
      const asked = rejecting(opencode, second)
      await expect
        .poll(async () => JSON.stringify(await stage.call('GET', `/session/${sessionID}/message`)))
        .toContain('scenario:edit')
      model.release('steered')
      expect((await asked).asked).toEqual(['edit'])
      expect(second.joined).toBe(true)
      expect(isThere('edit.txt')).toBe(false)
    })

    test('guards a session that is loosened right before the post', async () => {
      const { sessionID } = await run('plain')
      const permission = [{ permission: '*', pattern: '*', action: 'allow' }]
      const stream = stage.opencode.prompt(
        { sessionID, text: '[scenario:edit]', guarded: true },
        { onPosting: async () => void (await stage.call('PATCH', `/session/${sessionID}`, { permission })) },
      )
      expect((await rejecting(stage.opencode, stream)).asked).toEqual(['edit'])
      expect(isThere('edit.txt')).toBe(false)
    })

    test('guards a session whose own rules were loosened', async () => {
      const { sessionID } = await run('plain')
      await stage.call('PATCH', `/session/${sessionID}`, {
        permission: [{ permission: '*', pattern: '*', action: 'allow' }],
      })
      expect((await run('edit', { sessionID })).asked).toEqual(['edit'])
      expect((await run('bash', { sessionID })).asked).toEqual([])
      expect(isThere('bash.txt')).toBe(false)
    })

    test('adds its rules once', async () => {
      const { sessionID } = await run('plain')
      const rulesOf = async () => Reflect.get(Object(await stage.call('GET', `/session/${sessionID}`)), 'permission')
      const rules = await rulesOf()
      await run('plain', { sessionID })
      expect(await rulesOf()).toEqual(rules)
    })
  })

  testOwnRules(version, { adds: true })
}

/** `adds`: to its sessions, what its config lacks. */
function testOwnRules(version: string, { adds }: { readonly adds: boolean }): void {
  describe(`a guarded prompt on OpenCode ${version} with rules of its own`, () => {
    test.runIf(adds)('keeps what is denied, and asks for what is allowed by name', async () => {
      const stage = await openGuardStage(version, {
        permission: { webfetch: 'allow', bash: { '*': 'allow', 'rm *': 'deny' }, edit: 'deny' },
      })
      const { opencode } = stage
      const run = async (name: string) =>
        await rejecting(opencode, opencode.prompt({ text: `[scenario:${name}]`, guarded: true }))
      expect((await run('remove')).asked).toEqual([])
      expect((await run('edit')).asked).toEqual([])
      expect((await run('status')).asked).toEqual([])
      expect((await run('fetch')).asked).toEqual(['webfetch'])
      expect(existsSync(join(stage.server.directory, 'kept.txt'))).toBe(true)
      expect(existsSync(join(stage.server.directory, 'edit.txt'))).toBe(false)
      await stage.close()
    })

    test('is not posted unguarded to a server that no longer asks after a restart', async () => {
      const stage = await openGuardStage(version, { permission: Object(config(firstLines).permission) })
      const { opencode, server } = stage
      const { sessionID } = await rejecting(opencode, opencode.prompt({ text: '[scenario:plain]', guarded: true }))
      const onPosting = async (): Promise<void> => {
        const path = join(server.directory, 'opencode.json')
        const { permission: _, ...others } = JSON.parse(readFileSync(path, 'utf8'))
        await server.kill()
        await server.write({ 'opencode.json': JSON.stringify(others) })
        void server.restart()
      }
      const stream = opencode.prompt({ sessionID, text: '[scenario:edit]', guarded: true }, { onPosting })
      // It asks, or the server was away for too long.
      expect((await rejecting(opencode, stream)).outcome).not.toBe('completed')
      expect(existsSync(join(server.directory, 'edit.txt'))).toBe(false)
      await stage.close()
    })

    test.runIf(adds)('asks before it reads a file of secrets, also where all is allowed', async () => {
      const stage = await openGuardStage(version, { permission: { '*': 'allow' } })
      const { opencode } = stage
      const run = async (name: string) =>
        await rejecting(opencode, opencode.prompt({ text: `[scenario:${name}]`, guarded: true }))
      expect((await run('secrets')).asked).toEqual(['read'])
      expect((await run('read')).asked).toEqual([])
      expect((await run('edit')).asked).toEqual(['edit'])
      await stage.close()
    })

    test('leaves a server alone that asks by the lines of the error, its sub-agents too', async () => {
      const lines = Object(config(firstLines).permission)
      const stage = await openGuardStage(version, {
        permission: { ...lines, external_directory: { '*': 'ask', '/etc/*': 'allow' }, task: 'allow' },
      })
      const { opencode } = stage
      const run = async (name: string) =>
        await rejecting(opencode, opencode.prompt({ text: `[scenario:${name}]`, guarded: true }))
      const { sessionID } = await run('plain')
      expect(Reflect.get(Object(await stage.call('GET', `/session/${sessionID}`)), 'permission')).toBeUndefined()
      expect((await run('outside')).asked).toEqual([])
      expect((await run('edit')).asked).toEqual(['edit'])
      expect((await run('quoted')).asked).toEqual([])
      expect((await run('secrets')).asked).toEqual(['read'])
      // The sub-agent asks by itself.
      expect((await run('child')).asked).toEqual(['edit'])
      const command = await rejecting(opencode, opencode.command({ command: 'sub', guarded: true }))
      expect(command.asked).toEqual(['edit'])
      expect(['bash.txt', 'edit.txt'].map((name) => existsSync(join(stage.server.directory, name)))).toEqual([
        false,
        false,
      ])
      await stage.close()
    })
  })
}

/** OpenCode 2 takes no rules with a session: its config has to ask. */
export function testGuardedSecond(version: string): void {
  describe(`a guarded prompt on OpenCode ${version}`, () => {
    test('is refused without settings for permissions, before a session is created', async () => {
      const stage = await openGuardStage(version)
      const { opencode } = stage
      const { sessionID } = await rejecting(opencode, opencode.prompt({ text: '[scenario:plain]' }))
      for (const input of [{}, { sessionID }]) {
        const stream = opencode.prompt({ ...input, text: '[scenario:bash]', guarded: true })
        const { error } = await rejecting(opencode, stream)
        expect(error).toMatchObject({ name: 'unguarded', message: expect.stringContaining(secondLines) })
      }
      expect(await opencode.sessions()).toHaveLength(1)
      expect(existsSync(join(stage.server.directory, 'bash.txt'))).toBe(false)
      await stage.close()
    })

    test('asks by the lines of the error, also in sub-agents', async () => {
      const stage = await openGuardStage(version, { extra: config(secondLines) })
      const { opencode } = stage
      const run = async (name: string) =>
        await rejecting(opencode, opencode.prompt({ text: `[scenario:${name}]`, guarded: true }))
      expect((await run('read')).asked).toEqual([])
      expect((await run('bash')).asked).toEqual(['shell'])
      expect((await run('edit')).asked).toEqual(['edit'])
      expect((await run('fetch')).asked).toEqual(['webfetch'])
      expect((await run('secrets')).asked).toEqual(['read'])
      const stream = opencode.prompt({ text: '[scenario:child]', guarded: true })
      const asked: string[] = []
      for await (const { ask } of stream.filter(['permissionAsked', 'askChanged'])) {
        if (ask.type !== 'permission' || asked.includes(ask.permission)) continue
        asked.push(ask.permission)
        if (ask.permission === 'subagent') await opencode.answer(ask, 'once')
        else await opencode.reject(ask)
      }
      expect(asked).toEqual(['subagent', 'edit'])
      expect([stage.hits(), existsSync(join(stage.server.directory, 'edit.txt'))]).toEqual([0, false])
      await stage.close()
    })
  })
}
