import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { PromptFile, Reply, ReplyObserver } from '@reply/core'
import type { Scene, SceneStage } from './background-scenes.ts'

/** A scene of one prompt, with what Claude Code needs for it. */
export interface PreparedScene {
  /** Arguments of Claude Code. */
  readonly args?: readonly string[]
  /** Files of the project's folder. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>
  /** The versions whose recordings have something to show. Default: all. */
  readonly versions?: readonly string[]
  readonly play: Scene
}

/** A picture of two by two points. */
export const picture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVR4nGP8z8DAwMDAxMDAwMDAAAANHQEDasKb6QAAAABJRU5ErkJggg==',
  'base64',
)

const dataFile = (filename: string, mime: string, content: Uint8Array | string): PromptFile => ({
  url: `data:${mime};base64,${Buffer.from(content).toString('base64')}`,
  mime,
  filename,
})

/** What a chat sends: a photo, a text whose type the chat does not know, and a PDF. */
export const sentFiles = [
  dataFile('photo.png', 'image/png', picture),
  dataFile('notes.ts', 'application/octet-stream', 'The text of the file.'),
  dataFile('paper.pdf', 'application/pdf', '%PDF-1.1\ntrailer<</Root 1 0 R>>\n%%EOF'),
] as const

/** Writes the files of a scene into the project's folder. */
export function writeSceneFiles({ files = {} }: PreparedScene, directory: string): void {
  for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content)
}

const planMode = ['--permission-mode', 'plan']
const formsServer = fileURLToPath(new URL('./forms-server.mjs', import.meta.url))
const forms = {
  args: ['--mcp-config', 'mcp.json'],
  files: {
    'mcp.json': JSON.stringify({ mcpServers: { forms: { command: process.execPath, args: [formsServer] } } }),
  },
}

/** Claude Code runs a hook as a shell command. Its output is a message for people. */
const hook = (text: string) => [
  { hooks: [{ type: 'command', command: `echo '${JSON.stringify({ systemMessage: text })}'` }] },
]

/** A notebook with one cell. */
const notebook = JSON.stringify({
  cells: [{ cell_type: 'code', execution_count: null, id: 'c1', metadata: {}, outputs: [], source: ['a'] }],
  metadata: { language_info: { name: 'python' } },
  nbformat: 4,
  nbformat_minor: 5,
})

export const promptScenes: Readonly<Record<string, PreparedScene>> = {
  /** The model gives the plan to the tool. */
  plan: { args: planMode, play: async (stage) => await prompted(stage, 'plan', allowing(stage)) },
  /** The model wrote the plan to a file, and Claude Code gives it to the tool. */
  'plan-file': {
    args: planMode,
    play: async (stage) => {
      const { model } = stage
      const playing = prompted(stage, 'plan-file', allowing(stage))
      await model?.held('planning')
      const path = /\/[^"\\ ]+\/plans\/[^"\\ ]+\.md/.exec(JSON.stringify(model?.requests ?? []))?.[0]
      if (path !== undefined) {
        mkdirSync(dirname(path), { recursive: true })
        writeFileSync(path, '# The plan of the file\n\n1. Make it.')
      }
      model?.release('planning')
      return await playing
    },
  },
  /** There is no plan. */
  'plan-missing': { args: planMode, play: async (stage) => await prompted(stage, 'plan-missing', allowing(stage)) },
  /** A person sends files. */
  files: {
    play: async ({ client }) => [
      await client.prompt({ text: '[scenario:files] Look at these.', files: sentFiles }).result,
    ],
  },
  /** The model reads a picture. */
  picture: { files: { 'picture.png': picture }, play: async (stage) => await prompted(stage, 'picture') },
  /** The model edits a file twice, writes two, and edits a notebook. */
  edits: {
    files: { 'list.txt': 'one\ntwo\nthree\n', 'book.ipynb': notebook },
    play: async (stage) => await prompted(stage, 'edits', allowing(stage)),
  },
  form: { ...forms, play: async (stage) => await prompted(stage, 'form', filling(stage)) },
  'form-declined': {
    ...forms,
    play: async (stage) => {
      const questionAsked: ReplyObserver['questionAsked'] = ({ ask }) => void stage.client.reject(ask)
      return await prompted(stage, 'form', { ...allowing(stage), questionAsked })
    },
  },
  'form-aborted': {
    ...forms,
    play: async (stage) => {
      const questionAsked: ReplyObserver['questionAsked'] = ({ ask: { sessionID } }) =>
        void stage.client.abort({ sessionID })
      return await prompted(stage, 'form', { ...allowing(stage), questionAsked })
    },
  },
  /** 2.1.197 refuses addresses to visit. */
  link: {
    ...forms,
    versions: ['2.1.332'],
    play: async (stage) => {
      const questionAsked: ReplyObserver['questionAsked'] = ({ ask }) => void stage.client.answer(ask, [['Done']])
      return await prompted(stage, 'link', { ...allowing(stage), questionAsked })
    },
  },
  /** 2.1.197 keeps the messages of hooks to itself. */
  notices: {
    args: ['--settings', 'hooks.json'],
    files: {
      'hooks.json': JSON.stringify({ hooks: { UserPromptSubmit: hook('Welcome.'), Stop: hook('Goodbye.') } }),
    },
    versions: ['2.1.332'],
    play: async (stage) => await prompted(stage, 'plain'),
  },
  /** The model refuses to summarize. */
  'compaction-failed': {
    play: async (stage) => {
      const [first] = await prompted(stage, 'plain')
      const text = '/compact [scenario:unsummarized] Be short.'
      return [await stage.client.prompt({ text, sessionID: first?.sessionID }).result]
    },
  },
}

async function prompted(
  { client }: SceneStage,
  scenario: string,
  observer: ReplyObserver = {},
): Promise<readonly Reply[]> {
  return [await client.prompt({ text: `[scenario:${scenario}] Go.` }, { observe: () => [observer] }).result]
}

/** Allows everything once. */
function allowing({ client }: SceneStage): ReplyObserver {
  return { permissionAsked: ({ ask }) => void client.answer(ask, 'once') }
}

/** Allows everything once, and fills in the form. */
function filling(stage: SceneStage): ReplyObserver {
  const answers = [['red'], ['2'], ['Yes']]
  return { ...allowing(stage), questionAsked: ({ ask }) => void stage.client.answer(ask, answers) }
}
