import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Client, PermissionAsk, QuestionAsk, Reply, ReplyObserver } from '@reply/core'
import { connectSource, type Source } from '@reply/core/source'
import type { ScriptedModel } from '@reply/testing'
import { collectReplies } from '../collect-replies.ts'

/** Where a scene is played: on Codex with a scripted model, or on a recording of it. */
export interface SceneStage {
  readonly client: Client
  readonly directory: string
  /** Resolves when so many prompts were sent. */
  readonly posted: (count: number) => Promise<void>
  /** Absent on a recording, which waits for nothing. */
  readonly model?: ScriptedModel | undefined
}

/** A client of a source, with a condition for the prompts that the source has sent. */
export function connectScene(source: Source): Pick<SceneStage, 'client' | 'posted'> {
  let sent = 0
  const waiting = new Set<() => void>()
  const prompt: Source['prompt'] = async (place, input) => {
    await source.prompt(place, input)
    sent += 1
    for (const look of waiting) look()
  }
  const posted = async (count: number): Promise<void> =>
    await new Promise((resolve) => {
      const look = () => sent >= count && resolve()
      waiting.add(look)
      look()
    })
  return { client: connectSource({ ...source, prompt }), posted }
}

/** What Codex does besides its answer. */
export interface Scene {
  /** Codex's arguments for it. Default: none. */
  readonly args?: readonly string[]
  /** How many of its replies fail. Default: none. */
  readonly failures?: number
  /** Resolves with all replies, in order. */
  readonly play: (stage: SceneStage) => Promise<readonly Reply[]>
}

/** Codex's arguments for an MCP server of the tests, without which it does not start. */
function mcpArgs(name: string, file: string): readonly string[] {
  const path = fileURLToPath(new URL(file, import.meta.url))
  const settings = { command: process.execPath, args: [path], required: true }
  return Object.entries(settings).flatMap(([key, value]) => [
    '-c',
    `mcp_servers.${name}.${key}=${JSON.stringify(value)}`,
  ])
}

const pictures = mcpArgs('pictures', './picture-server.mjs')
const forms = mcpArgs('forms', '../claude/forms-server.mjs')
const rights = ['-c', 'features.request_permissions_tool=true']

/** A model as `client.models()` lists it. */
const openai = (modelID: string) => ({ providerID: 'openai', modelID })

/** Prompts with a scenario. Permissions get the answer, or are rejected. */
async function prompted(
  { client }: SceneStage,
  scenario: string,
  answer: 'once' | 'always' | 'reject',
  observer: ReplyObserver = {},
): Promise<readonly Reply[]> {
  const permissionAsked: ReplyObserver['permissionAsked'] = ({ ask }) =>
    void (answer === 'reject' ? client.reject(ask) : client.answer(ask, answer))
  const observe = () => [{ permissionAsked, ...observer }]
  return [await client.prompt({ text: `[scenario:${scenario}] Go.` }, { observe }).result]
}

/** Answers the questions of a scenario, whose calls are allowed. */
const asked = (scenario: string, answer: (stage: SceneStage, ask: QuestionAsk) => Promise<unknown>): Scene => ({
  args: forms,
  play: async (stage) =>
    await prompted(stage, scenario, 'once', { questionAsked: ({ ask }) => void answer(stage, ask) }),
})

/** Collects the replies, and answers each permission with `once` when it is told to. */
function collect({ client, directory }: SceneStage) {
  let ask = (_: PermissionAsk): void => {}
  const asked = new Promise<PermissionAsk>((resolve) => {
    ask = resolve
  })
  const replies = collectReplies(client, directory, { permissionAsked: (change) => ask(change.ask) })
  return { ...replies, allow: async () => await client.answer(await asked, 'once'), asked }
}

/** The files before the scene `patch`. */
const patched = { 'list.txt': 'one\ntwo\nthree\n', 'old.txt': 'old\n', 'name.txt': 'a\n' }

export const codexScenes: Readonly<Record<string, Scene>> = {
  /** The sub-agent asks after its parent's turn. Another prompt is answered before the person answers. */
  'background-agent': {
    play: async (stage) => {
      const { client, model } = stage
      const { asked, allow, begun, settled } = collect(stage)
      const { sessionID } = await client.prompt({ text: '[scenario:background-agent] Go.' }).result
      model?.release('parent')
      await asked
      // The sub-agent alone is shown before the next prompt.
      await begun(2)
      await client.prompt({ text: '[scenario:meanwhile] Go.', sessionID }).result
      await allow()
      return await settled((replies) =>
        replies.some(({ children }) => children.some(({ reply }) => reply.outcome !== undefined)),
      )
    },
  },
  /** Stop, while a sub-agent works and no run is open. */
  'background-endless': {
    play: async (stage) => {
      const { client, model } = stage
      const { begun, settled } = collect(stage)
      const { sessionID } = await client.prompt({ text: '[scenario:background-endless] Go.' }).result
      model?.release('parent')
      await model?.held('forever')
      await begun(2)
      await client.abort({ sessionID })
      return await settled((replies) => replies.length === 2)
    },
  },
  /** The command ends while another prompt is answered. */
  'background-command': {
    play: async (stage) => {
      const { client, directory } = stage
      const { settled } = collectReplies(client, directory, {
        permissionAsked: ({ ask }) => void client.answer(ask, 'once'),
      })
      const { sessionID } = await client.prompt({ text: '[scenario:background-command] Go.' }).result
      await client.prompt({ text: '[scenario:meanwhile-command] Go.', sessionID }).result
      return await settled((replies) => replies.length === 2)
    },
  },
  /** Codex goes on by itself, because its goal is not reached. */
  goal: {
    args: ['-c', 'features.goals=true'],
    play: async (stage) => {
      const { client } = stage
      const { settled } = collect(stage)
      await client.prompt({ text: '[scenario:goal] Go.' }).result
      return await settled((replies) => replies.length === 2)
    },
  },
  /** A prompt to a busy session. Codex reads it after its step, in the same turn. */
  steer: {
    play: async (stage) => {
      const { client, model, posted } = stage
      const { settled } = collect(stage)
      const first = client.prompt({ text: '[scenario:slow] Go.' })
      await model?.held('slow')
      await posted(1)
      const second = client.prompt({ text: '[scenario:meanwhile] Go.', sessionID: first.reply?.sessionID })
      await posted(2)
      model?.release('slow')
      await Promise.all([first.result, second.result])
      return await settled((replies) => replies.length === 1)
    },
  },
  /** A prompt with a model and an effort, and one without. Then a prompt with an effort alone, and one without. */
  model: {
    play: async ({ client }) => {
      const text = '[scenario:plain] Go.'
      const first = await client.prompt({ text, model: openai('another'), variant: 'high' }).result
      const { sessionID } = first
      const replies = [first, await client.prompt({ text, sessionID }).result]
      replies.push(await client.prompt({ text, sessionID, variant: 'low' }).result)
      return [...replies, await client.prompt({ text, sessionID }).result]
    },
  },
  /** The provider has no such model. The next prompt has the thread's own one. */
  'model-unknown': {
    failures: 1,
    play: async ({ client }) => {
      const unknown = { text: '[scenario:unknown-model] Go.', model: openai('nonesuch') }
      const first = await client.prompt(unknown).result
      return [first, await client.prompt({ text: '[scenario:plain] Go.', sessionID: first.sessionID }).result]
    },
  },
  /** While a turn has another model, a prompt for a third one is refused, and one for the same model joins it. */
  'model-busy': {
    failures: 1,
    play: async (stage) => {
      const { client, model, posted } = stage
      const { settled } = collect(stage)
      const first = client.prompt({ text: '[scenario:slow] Go.', model: openai('another') })
      await model?.held('slow')
      await posted(1)
      const text = '[scenario:meanwhile] Go.'
      const sessionID = first.reply?.sessionID
      const refused = await client.prompt({ text, sessionID, model: openai('third') }).result
      const second = client.prompt({ text, sessionID, model: openai('another') })
      await posted(2)
      model?.release('slow')
      await Promise.all([first.result, second.result])
      return [refused, ...(await settled((replies) => replies.length === 1))]
    },
  },
  /** Two calls of an MCP server. Each asks. */
  mcp: { args: pictures, play: async (stage) => await prompted(stage, 'draw', 'once') },
  /** The first one is allowed for the session, so the second one does not ask. */
  'mcp-always': { args: pictures, play: async (stage) => await prompted(stage, 'draw', 'always') },
  'mcp-rejected': { args: pictures, play: async (stage) => await prompted(stage, 'draw', 'reject') },
  /** An MCP server asks for approval of what its tool does, whose call is allowed. */
  'mcp-own': { args: pictures, play: async (stage) => await prompted(stage, 'print', 'once') },
  /** A form of an MCP server, whose call is allowed. */
  form: asked('form', async ({ client }, ask) => await client.answer(ask, [['red'], ['2'], ['Yes']])),
  'form-declined': asked('form', async ({ client }, ask) => await client.reject(ask)),
  'form-aborted': asked('form', async ({ client }, { sessionID }) => await client.abort({ sessionID })),
  /** An address that an MCP server wants visited. */
  link: asked('link', async ({ client }, ask) => await client.answer(ask, [['Done']])),
  /** The model asks for rights beyond the sandbox. */
  rights: { args: rights, play: async (stage) => await prompted(stage, 'rights', 'once') },
  'rights-always': { args: rights, play: async (stage) => await prompted(stage, 'rights', 'always') },
  'rights-rejected': { args: rights, play: async (stage) => await prompted(stage, 'rights', 'reject') },
  /** The model looks at a picture of the project. */
  view: {
    play: async (stage) => {
      writeFileSync(join(stage.directory, 'dot.png'), Buffer.from(dot, 'base64'))
      return await prompted(stage, 'view', 'once')
    },
  },
  /** The model changes, adds, deletes and renames files, and one by a command. */
  patch: {
    play: async (stage) => {
      for (const [name, text] of Object.entries(patched)) writeFileSync(join(stage.directory, name), text)
      return await prompted(stage, 'patch', 'once')
    },
  },
  /** Two pictures in a prompt, by their content and by their path. */
  pictures: {
    play: async (stage) => {
      const { client, directory } = stage
      writeFileSync(join(directory, 'dot.png'), Buffer.from(dot, 'base64'))
      const files = [
        { mime: 'image/png', url: `data:image/png;base64,${dot}` },
        { mime: 'image/png', url: pathToFileURL(join(directory, 'dot.png')).href },
      ]
      return [await client.prompt({ text: '[scenario:plain] What is it?', files }).result]
    },
  },
}

/** A picture of one pixel. */
export const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
