import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Client, connect, type Reply, toolsOf } from '@reply/core'
import { createAgent, type Thought, type ToolHost } from '@reply/core/thoughts'
import {
  callTool,
  holdAnswer,
  launchOpencode,
  type OpencodeServer,
  type ScriptedModel,
  type Scripts,
  sayText,
  startModel,
} from '@reply/testing'
import { openCodeHost } from '@reply/tools'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'

export interface Played {
  readonly version: string
  /** Only OpenCode 2 has one. */
  readonly password?: string
}

/** What a real server does with the tools of this program. */
export function playTools({ version, password }: Played): void {
  describe(`OpenCode ${version}`, () => {
    const scripts: Record<string, Scripts[string]> = {}
    let model: ScriptedModel
    let server: OpencodeServer
    let opencode: Client
    let real: ToolHost

    beforeAll(async () => {
      model = await startModel({ scripts, generation: password === undefined ? 1 : 2 })
      server = await launchOpencode({ model, version })
      opencode = connect({ url: server.url, password, directory: server.directory })
      // Its server is that of the connection.
      real = openCodeHost()
    })

    afterAll(async () => {
      await opencode?.close()
      await server?.stop()
      await model?.close()
    })

    /** The names of the MCP servers that the server has. */
    async function hosts(): Promise<readonly string[]> {
      const authorization = `Basic ${Buffer.from(`opencode:${password}`).toString('base64')}`
      const [path, query] = password === undefined ? ['/mcp', 'directory'] : ['/api/mcp', 'location[directory]']
      const response = await fetch(`${server.url}${path}?${new URLSearchParams({ [query]: server.directory })}`, {
        headers: { authorization },
      })
      const said = (await response.json()) as Readonly<Record<string, { readonly status?: string }>> & {
        readonly data?: readonly { readonly name: string }[]
      }
      if (said.data) return said.data.map(({ name }) => name)
      return Object.keys(said).filter((name) => said[name]?.status === 'connected')
    }

    /** The script learns the tools' names when they are offered. */
    function scripted(script: string, play: (named: (tool: string) => string) => Scripts[string]): ToolHost {
      return {
        offer: async (tools, input, driver) => {
          const offered = await real.offer(tools, input, driver)
          const [host = ''] = await hosts()
          scripts[script] = play((name) => `${host}_${name}`)
          return offered
        },
      }
    }

    test('calls a tool of this program and returns a value before the turn ends', async () => {
      const cities: string[] = []
      const host = scripted('weather', (named) => ({
        steps: [
          [callTool(named('weather'), { city: 'Bern' })],
          [callTool(named('return_result'), { degrees: 21 })],
          [holdAnswer('returned'), sayText('Done.')],
        ],
      }))
      const turn = createAgent(opencode, { host }).stream('How warm? [scenario:weather]', {
        tools: {
          weather: {
            description: 'The weather in a city.',
            schema: z.object({ city: z.string() }),
            handler: ({ city }) => {
              cities.push(city)
              return { degrees: 21 }
            },
          },
        },
        output: z.object({ degrees: z.number() }),
      })
      const thoughts: Thought[] = []
      const read = (async () => {
        for await (const thought of turn) thoughts.push(thought)
      })()
      const { degrees } = await turn.result
      expect(degrees).toBe(21)
      await model.held('returned')
      expect(thoughts.map(({ type }) => type)).not.toContain('message')
      model.release('returned')
      expect(cities).toEqual(['Bern'])
      await read
      expect(thoughts.map(({ type }) => type).filter((type) => type === 'tool_done')).toHaveLength(2)
      expect(thoughts.at(-1)).toEqual({ type: 'message', text: 'Done.' })
    })

    test('forgets the tools when the turn has ended', async () => {
      const host = scripted('plain', () => ({ steps: [[sayText('Hello.')]] }))
      const tools = { look: { description: 'Looks.', schema: z.object({}), handler: () => 'seen' } }
      const reply: Reply = await createAgent(opencode, { host }).run('Hello? [scenario:plain]', { tools })
      expect(reply.outcome).toBe('completed')
      await expect.poll(hosts).toEqual([])
    })

    test('lets the model try again after a value that does not fit', async () => {
      const host = scripted('again', (named) => ({
        steps: [
          [callTool(named('return_result'), { value: 'three' })],
          [callTool(named('return_result'), { value: 3 })],
          [sayText('Done.')],
        ],
      }))
      const seen: Reply[] = []
      const count = await createAgent(opencode, { host }).run('How many? [scenario:again]', {
        output: z.int(),
        observe: () => [{ replySettled: ({ reply }) => seen.push(reply) }],
      })
      expect(count).toBe(3)
      await expect.poll(() => seen).toHaveLength(1)
      expect(seen.flatMap(toolsOf).map(({ state }) => state.status)).toEqual(['error', 'completed'])
    })

    if (password === undefined) {
      test('returns a value by the format of the prompt, without a host', async () => {
        scripts.format = { steps: [[callTool('StructuredOutput', { value: 3 })], [sayText('Counted.')]] }
        expect(await createAgent(opencode).run('How many? [scenario:format]', { output: z.int() })).toBe(3)
      })
    } else {
      test('runs the example', async () => {
        Object.defineProperty(scripts, 'example', {
          // What the agent calls the tools is known when it asks the model.
          get: (): Scripts[string] => {
            const named = (name: string): string =>
              /"(reply_\w{8}_)/.exec(JSON.stringify(model.requests.at(-1)?.body))?.[1] + name
            return {
              steps: [
                [callTool(named('temperature'), { city: 'Bern' })],
                [callTool(named('return_result'), { city: 'Bern', degrees: 12 })],
                [sayText('Bern is.')],
              ],
            }
          },
        })
        const example = fileURLToPath(new URL('../../../examples/tools.ts', import.meta.url))
        const args = ['--conditions=@reply/source', '--import', 'tsx', example, 'Bern', 'Oslo [scenario:example]']
        const env = { ...process.env, OPENCODE_URL: server.url, OPENCODE_PASSWORD: password }
        const { stdout } = await promisify(execFile)(process.execPath, args, { env })
        expect(stdout).toContain('The warmest is Bern, at 12 °C.')
        expect(stdout.match(/^other: /gm)).toHaveLength(2)
      })

      test('says that it returns values only with a host', async () => {
        const turn = createAgent(opencode).run('How many? [scenario:format]', { output: z.int() })
        await expect(turn).rejects.toMatchObject({ type: 'no-output', message: expect.stringContaining('format') })
      })
    }

    test('rejects the result of a turn that returns nothing', async () => {
      const host = scripted('nothing', () => ({ steps: [[sayText('I do not know.')]] }))
      const turn = createAgent(opencode, { host }).stream('How many? [scenario:nothing]', { output: z.int() })
      await expect(turn.result).rejects.toMatchObject({
        type: 'no-output',
        message: expect.stringContaining('completed'),
      })
    })
  })
}
