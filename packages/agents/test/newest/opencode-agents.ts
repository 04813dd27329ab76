import { connect } from '@reply/core'
import {
  callTool,
  launchOpencode,
  openCode2Password,
  openCode2Version,
  opencodeBinary,
  startModel,
} from '@reply/testing'
import { newestOpencode } from '@reply/testing/internal'
import { openStage } from '../../../reply/test/drive/server.ts'
import { contractStage, delegated } from '../../../reply/test/source/live-stage.ts'
import { openCodePermission, openCodeTools } from './acp-agents.ts'
import type { NewestAgent } from './agent.ts'
import { scriptsFor, type Tools } from './scripts.ts'
import { killAllIn } from './stage.ts'

const delegateInBackground = (prompt: string) =>
  callTool('task', { description: 'Look around', prompt, subagent_type: 'general', background: true })

/** OpenCode's server in its newest version of a generation. */
function openCodeAgent(generation: 1 | 2): NewestAgent {
  const isSecond = generation === 2
  const tools = (directory: string): Tools => {
    const { todos, form: _form, ...both } = openCodeTools(directory)
    return { ...both, ...(!isSecond && todos && { todos }), delegateInBackground }
  }
  return {
    name: `OpenCode ${generation}`,
    tools,
    hasCost: isSecond,
    otherModel: { providerID: 'fake', modelID: 'm2' },
    compacts: 'call',
    newest: async () => await newestOpencode(generation),
    fetch: async (version) => await opencodeBinary({ version }),
    open: async (version = isSecond ? openCode2Version : undefined) => {
      // The folder is known once the server runs, and a relative path is as good.
      const model = await startModel({ scripts: scriptsFor(tools('')), fallback: 'plain', generation })
      const server = await launchOpencode({
        ...(version !== undefined && { version }),
        env: { OPENCODE_EXPERIMENTAL_BACKGROUND_SUBAGENTS: 'true' },
        model,
        config: { permission: openCodePermission, extra: isSecond ? secondModel(model.url) : firstModel(model.url) },
      })
      const frames: unknown[] = []
      const open = () =>
        connect({
          url: server.url,
          password: isSecond ? openCode2Password : undefined,
          directory: server.directory,
          onFrame: (data) => frames.push(JSON.parse(data)),
        })
      let client = open()
      return {
        client: () => client,
        model,
        directory: server.directory,
        restart: async () => {
          await client.close()
          await server.restart()
          client = open()
        },
        kill: async () => {
          await server.kill()
          await server.restart()
        },
        lines: () => frames,
        close: async () => {
          await client.close()
          await server.stop()
          await killAllIn(server.home)
          await model.close()
        },
      }
    },
    openContract: async (version) => {
      const stage = await openStage({ version })
      const existing = await delegated(stage)
      return { setup: () => contractStage(stage, existing), close: stage.close }
    },
  }
}

const m2 = { name: 'M2', limit: { context: 200_000, output: 8000 } }

/** Settings of OpenCode 1 with another model. Git snapshots take most of a turn's time. */
function firstModel(baseURL: string) {
  const provider = { npm: '@ai-sdk/openai-compatible', name: 'Fake', options: { baseURL, apiKey: 'x' } }
  const image = { attachment: true, tool_call: true, modalities: { input: ['text', 'image'], output: ['text'] } }
  const m1 = { name: 'M1', limit: m2.limit, reasoning: true, ...image }
  return { snapshot: false, provider: { fake: { ...provider, models: { m1, m2 } } } }
}

/** Settings of OpenCode 2 with another model. */
function secondModel(baseURL: string) {
  const capabilities = { tools: true, input: ['text', 'image'], output: ['text'] }
  const models = {
    m1: { ...m2, name: 'M1', cost: { input: 1, output: 2 }, capabilities },
    m2: { ...m2, capabilities },
  }
  const settings = { baseURL, apiKey: 'x' }
  const fake = { name: 'Fake', package: '@opencode-ai/ai/providers/openai-compatible', settings, models }
  return { providers: { fake } }
}

export const openCodeOne = openCodeAgent(1)
export const openCodeTwo = openCodeAgent(2)
