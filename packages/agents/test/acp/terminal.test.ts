import { mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentContext, CreateTerminalRequest, TerminalHandle } from '@agentclientprotocol/sdk'
import type { Reply, ToolPart } from '@reply/core'
import type { Thought } from '@reply/core/thoughts'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createTail } from '../../src/acp/terminal.ts'
import type { AcpOptions } from '../../src/acp.ts'
import { isAlive } from './is-alive.ts'
import { type SdkTurn, sdkStage } from './terminal-stage.ts'

let root = ''
let folder = ''
beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'reply-terminal-')))
  folder = join(root, 'project')
  await mkdir(join(folder, 'below'), { recursive: true })
  await symlink(root, join(folder, 'out'))
})
afterAll(async () => await rm(root, { recursive: true, force: true }))

type Act<T> = (
  turn: SdkTurn & { start(request: Partial<CreateTerminalRequest>): Promise<TerminalHandle> },
) => Promise<T>

/** Plays one turn of an agent made with the SDK. */
async function play<T>(
  act: Act<T>,
  options: Partial<AcpOptions> = {},
): Promise<{ readonly reply: Reply; readonly got: T | undefined; readonly failure: unknown }> {
  let got: T | undefined
  let failure: unknown
  const { client } = sdkStage(
    async (turn) => {
      const start = (request: Partial<CreateTerminalRequest>): Promise<TerminalHandle> =>
        turn.agent.createTerminal({ sessionId: turn.sessionId, command: 'true', ...request })
      try {
        got = await act({ ...turn, start })
      } catch (error) {
        failure = error
      }
    },
    { cwd: folder, ...options },
  )
  const reply = await client.prompt({ text: 'Go.' }).result
  await client.close()
  return { reply, got, failure }
}

/** Runs a command to its end. */
const outcomeOf = (request: Partial<CreateTerminalRequest>, options?: Partial<AcpOptions>) =>
  play(async ({ start }) => {
    const terminal = await start(request)
    const exit = await terminal.waitForExit()
    return { exit, ...(await terminal.currentOutput()) }
  }, options)

const callOf = (reply: Reply): ToolPart | undefined =>
  reply.messages.flatMap(({ parts }) => parts).find((part): part is ToolPart => part.type === 'tool')

/** Starts a command that runs until it is ended, with a child of its own. Returns both process ids. */
async function startLong(
  agent: AgentContext,
  sessionId: string,
): Promise<{ readonly terminal: TerminalHandle; readonly pids: readonly number[] }> {
  const terminal = await agent.createTerminal({ sessionId, command: 'sleep 1000 & echo $$ $!; wait' })
  let pids: readonly number[] = []
  await vi.waitFor(async () => {
    pids = (await terminal.currentOutput()).output.trim().split(' ').map(Number)
    expect(pids).toHaveLength(2)
  })
  return { terminal, pids }
}

const areGone = async (pids: readonly number[]): Promise<void> =>
  await vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]), { timeout: 60_000 })

test('terminals are not offered, and their methods are not there, unless the host allows them', async () => {
  const { client, offered } = sdkStage(
    async ({ agent, sessionId }) => {
      await agent.createTerminal({ sessionId, command: 'true' })
    },
    { cwd: folder, terminals: false },
  )
  const reply = await client.prompt({ text: 'Go.' }).result
  await client.close()
  expect(offered()).toBe(false)
  expect(reply.error?.message).toContain('terminal/create')
})

test('a host that allows terminals says so to the agent', async () => {
  const { client, offered } = sdkStage(async () => {}, { cwd: folder })
  await client.prompt({ text: 'Go.' }).result
  await client.close()
  expect(offered()).toBe(true)
})

test("a command runs in the session's folder and gives its output and exit code", async () => {
  const { got } = await outcomeOf({ command: 'sh', args: ['-c', 'pwd; echo bad >&2; exit 3'] })
  expect(got).toMatchObject({ exit: { exitCode: 3, signal: null }, truncated: false })
  expect(got?.exitStatus).toEqual({ exitCode: 3, signal: null })
  expect(got?.output.split('\n').toSorted()).toEqual(['', folder, 'bad'].toSorted())
})

test('a command without arguments is a line for the shell, one with arguments is not', async () => {
  expect((await outcomeOf({ command: 'echo one | tr o 0; echo two' })).got?.output).toBe('0ne\ntwo\n')
  expect((await outcomeOf({ command: 'echo', args: ['$HOME; ls'] })).got?.output).toBe('$HOME; ls\n')
})

test("a command has the agent's environment, changed by the request, and no input", async () => {
  const request = { command: 'cat; echo "$GIVEN|$TAKEN|$OWN"', env: [{ name: 'OWN', value: 'its own' }] }
  process.env.TAKEN = 'secret'
  const { got } = await outcomeOf(request, { env: { GIVEN: 'given', OWN: 'none', TAKEN: undefined } })
  delete process.env.TAKEN
  expect(got?.output).toBe('given||its own\n')
})

test('a command may run below the folder', async () => {
  expect((await outcomeOf({ command: 'pwd', cwd: join(folder, 'below') })).got?.output).toBe(`${folder}/below\n`)
})

test.each(['..', 'out', 'below/../..', 'out/project/../other', '/'])(
  'a command outside of the folder is refused: %s',
  async (place) => {
    const cwd = place === '/' ? place : `${folder}/${place}`
    expect((await outcomeOf({ command: 'pwd', cwd })).failure).toMatchObject({ code: -32_602 })
  },
)

test.each([
  ['a relative folder', { cwd: 'below' }, 'absolute'],
  ['a folder that is not there', { cwd: '/project/none' }, 'none'],
  ['a program that is not there', { command: 'no-such-program', args: ['x'] }, 'was not found'],
])('%s is refused with the reason', async (_, request: Partial<CreateTerminalRequest>, words) => {
  const cwd = request.cwd?.startsWith('/') ? join(folder, 'none') : request.cwd
  const { failure } = await outcomeOf({ ...request, ...(cwd && { cwd }) })
  expect(JSON.stringify(failure) + String(failure)).toContain(words)
})

test('the end of a long output is kept, in whole characters', async () => {
  const { got } = await outcomeOf({ command: "printf '€€€€€€€€'", outputByteLimit: 10 })
  expect(got).toMatchObject({ output: '€€€', truncated: true })
})

test('100 MB of output are held within the limit', async () => {
  const { got } = await outcomeOf({ command: 'head -c 100000000 /dev/zero | tr "\\0" x; echo end' })
  expect([got?.output.length, got?.truncated, got?.output.endsWith('xend\n')]).toEqual([1_048_576, true, true])
})

test('a command that was killed stays readable and names its signal', async () => {
  const { got } = await play(async ({ agent, sessionId }) => {
    const { terminal, pids } = await startLong(agent, sessionId)
    await terminal.kill()
    return { pids, exit: await terminal.waitForExit(), ...(await terminal.currentOutput()) }
  })
  expect(got).toMatchObject({ exit: { exitCode: null, signal: 'SIGTERM' }, output: `${got?.pids.join(' ')}\n` })
  expect(got?.pids.filter(isAlive)).toEqual([])
})

test('a terminal that was released is ended and unknown', async () => {
  const { got, failure } = await play(async ({ agent, sessionId }) => {
    const { terminal, pids } = await startLong(agent, sessionId)
    await terminal.release()
    expect(pids.filter(isAlive)).toEqual([])
    return await terminal.currentOutput()
  })
  expect(got).toBeUndefined()
  expect(failure).toMatchObject({ code: -32_002 })
})

test("another session's terminal is unknown, and a session without a prompt starts no command", async () => {
  let first: SdkTurn | undefined
  let terminalId = ''
  const failures: unknown[] = []
  const { client } = sdkStage(
    async (turn) => {
      if (!first) {
        first = turn
        terminalId = (await turn.agent.createTerminal({ sessionId: turn.sessionId, command: 'true' })).id
        return
      }
      const { agent, sessionId } = turn
      const params = { sessionId, terminalId }
      for (const method of ['output', 'wait_for_exit', 'kill', 'release'])
        await agent.request(`terminal/${method}`, params).catch((error: unknown) => failures.push(error))
      for (const id of [first.sessionId, 'ses_none'])
        await agent.createTerminal({ sessionId: id, command: 'true' }).catch((error: unknown) => failures.push(error))
    },
    { cwd: folder },
  )
  await client.prompt({ text: 'Go.' }).result
  await client.prompt({ text: 'Go.' }).result
  await client.close()
  const unknown = { code: -32_002 }
  expect(failures).toMatchObject([unknown, unknown, unknown, unknown, { code: -32_600 }, unknown])
})

test("a call shows its terminal's output while it runs, at its end, and after the terminal was released", async () => {
  const live: unknown[] = []
  const { client } = sdkStage(
    async ({ agent, sessionId }) => {
      const terminal = await agent.createTerminal({ sessionId, command: "printf '\\033[31mone\\033[0m'; cat" })
      const say = (update: object) =>
        agent.notify<object>('session/update', {
          sessionId,
          update: { toolCallId: 'c1', title: 'Print', kind: 'execute', ...update },
        })
      const content = [{ type: 'terminal', terminalId: terminal.id }]
      await say({ sessionUpdate: 'tool_call', status: 'in_progress', content })
      await vi.waitFor(() => expect(live).toContain('one'))
      await terminal.waitForExit()
      await terminal.release()
      await say({ sessionUpdate: 'tool_call_update', status: 'completed' })
    },
    { cwd: folder },
  )
  const stream = client.stream('Go.', {
    observe: () => [{ toolProgressed: ({ part }) => live.push(part.state.metadata?.output) }],
  })
  const thoughts: Thought[] = []
  for await (const thought of stream) thoughts.push(thought)
  await client.close()
  expect(callOf(await stream.result)?.state).toMatchObject({ status: 'completed', output: 'one' })
  const shown = thoughts.flatMap((thought) => (thought.type === 'tool_update' ? [thought.content ?? []] : []))
  expect(shown.at(-1)).toMatchObject([
    { type: 'terminal', terminalId: expect.stringMatching(/^term_/) },
    { type: 'content', content: { type: 'text', text: 'one' } },
  ])
})

test('a call with two terminals shows both, also when one was released', async () => {
  const { reply } = await play(async ({ agent, sessionId, start }) => {
    const [one, two] = [await start({ command: 'echo one' }), await start({ command: 'echo two' })]
    const content = [one, two].map(({ id }) => ({ type: 'terminal', terminalId: id }))
    const say = (update: object) =>
      agent.notify<object>('session/update', { sessionId, update: { toolCallId: 'c1', ...update } })
    await say({ sessionUpdate: 'tool_call', title: 'Both', status: 'in_progress', content })
    await one.waitForExit()
    await one.release()
    await two.waitForExit()
    await say({ sessionUpdate: 'tool_call_update', status: 'completed' })
  })
  expect(callOf(reply)?.state.output).toBe('one\n\ntwo\n')
})

test('an abort ends the commands of its run, and none can be started after it', async () => {
  let pids: readonly number[] = []
  let late: unknown
  const { client } = sdkStage(
    async ({ agent, sessionId, canceled }) => {
      pids = (await startLong(agent, sessionId)).pids
      await agent.notify('session/update', {
        sessionId,
        update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'Started.' } },
      })
      await canceled
      await areGone(pids)
      late = await agent.createTerminal({ sessionId, command: 'true' }).catch((error: unknown) => error)
    },
    { cwd: folder },
  )
  const stream = client.prompt({ text: 'Go.' }, { observe: () => [{ partChanged: () => void stream.abort() }] })
  expect((await stream.result).outcome).toBe('aborted')
  await client.close()
  expect(pids).toHaveLength(2)
  expect(late).toMatchObject({ code: -32_600 })
})

test.each(['close', 'death'])('the commands end with the %s of the agent', async (how) => {
  let pids: readonly number[] = []
  const stage = sdkStage(
    async ({ agent, sessionId }) => {
      pids = (await startLong(agent, sessionId)).pids
    },
    { cwd: folder },
  )
  await stage.client.prompt({ text: 'Go.' }).result
  expect(pids.map(isAlive)).toEqual([true, true])
  if (how === 'death') stage.die()
  else await stage.client.close()
  await areGone(pids)
  await stage.client.close()
})

test('more terminals than may be open are refused until one is released', async () => {
  const { got } = await play(async ({ start }) => {
    const open: TerminalHandle[] = []
    for (let count = 0; count < 32; count++) open.push(await start({}))
    const refused: unknown = await start({}).catch((error: unknown) => error)
    await open[0]?.release()
    return { refused, next: (await start({})).id }
  })
  expect(got).toMatchObject({ refused: { code: -32_600 }, next: expect.stringMatching(/^term_/) })
})

test('the end of a text is the same however it was split', () => {
  const text = 'aé€🙂'.repeat(3000)
  for (const size of [1, 2, 7, 5000]) {
    const tail = createTail(101)
    for (const piece of text.match(new RegExp(`.{1,${size}}`, 'gu')) ?? []) tail.push(piece)
    expect(Buffer.from(text).subarray(-101).toString('utf8').replace(/^�+/, '')).toBe(tail.text())
  }
})

test('terminals that earlier runs left open make room', async () => {
  const failures: unknown[] = []
  const { client } = sdkStage(
    async ({ agent, sessionId }) => {
      for (let count = 0; count < 20; count++) {
        try {
          await (await agent.createTerminal({ sessionId, command: 'true' })).waitForExit()
        } catch (error) {
          failures.push(error)
        }
      }
    },
    { cwd: folder },
  )
  const { sessionID } = await client.prompt({ text: 'Go.' }).result
  await client.prompt({ text: 'Go.', sessionID }).result
  await client.close()
  expect(failures).toEqual([])
})
