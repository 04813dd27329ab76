// Records Claude Code and Codex against the scripted model: `npx tsx packages/agents/scripts/record.ts [names]`, for
// example with the name `claude-tasks`. Without names it records all scenes.
import { mkdtempSync, readFileSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client, Reply, ReplyObserver } from '@reply/core'
import type { Source } from '@reply/core/source'
import { agentBinary, redact } from '@reply/testing/internal'
import { claude } from '../src/claude.ts'
import { codex } from '../src/codex.ts'
import { backgroundScenes, type SceneStage } from '../test/claude/background-scenes.ts'
import { claudeScripts } from '../test/claude/claude-stage.ts'
import { promptScenes, writeSceneFiles } from '../test/claude/scenes.ts'
import { askingArgs, codexScripts, codexVersions } from '../test/codex/codex-stage.ts'
import { type EarlierSession, findEarlier, makeEarlier } from '../test/codex/earlier.ts'
import { type SceneStage as CodexSceneStage, codexScenes, connectScene } from '../test/codex/scenes.ts'
import { recorderOf } from '../test/recorder.ts'
import { claudeEnv, codexEnv, codexFiles, type ScriptedStage, startScripted } from '../test/scripted-stage.ts'

const wanted = process.argv.slice(2)

/** A stage with an agent's program, and the environment for it. */
interface PreparedStage extends ScriptedStage {
  readonly command: string
  readonly env: Readonly<Record<string, string>>
}

type RecordedStage = SceneStage &
  Pick<CodexSceneStage, 'posted'> & { readonly source: Source; readonly earlier?: EarlierSession | undefined }

interface Scene {
  /** The file below `recordings`. */
  readonly file: string
  /** The name of the model's script. */
  readonly scenario: string
  readonly stage: () => Promise<PreparedStage>
  readonly source: (options: Pick<PreparedStage, 'command' | 'env'> & { readonly cwd: string }) => Source
  /** Lets another process make a session before, which isn't recorded. */
  readonly prepare?: (source: Source, stage: PreparedStage) => Promise<EarlierSession>
  /** Plays the scene, and resolves with its replies. Default: one prompt, whose asks are allowed. */
  readonly play?: (stage: RecordedStage) => Promise<readonly Reply[]>
}

/** An older version, whose turns wait for sub-agents unless told otherwise, and the newest at the time of recording. */
const claudeVersions = ['2.1.197', '2.1.332']

/** Starts a stage for Claude Code with more environment. Default version: the one that the tests run. */
async function claudeStage(env: Readonly<Record<string, string>>, version?: string): Promise<PreparedStage> {
  const command = await agentBinary('claude', version)
  const stage = await startScripted(claudeScripts)
  return { ...stage, command, env: { ...claudeEnv(stage), ...env } }
}

/** Starts a stage for Codex. Default version: the one that the tests run. */
async function codexStage(version?: string): Promise<PreparedStage> {
  const command = await agentBinary('codex', version)
  const stage = await startScripted(codexScripts, codexFiles)
  return { ...stage, command, env: codexEnv(stage) }
}

/** The scenarios of Claude Code, each with what is added to the environment. */
const claudeScenes: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['tasks', {}],
  ['shared-tasks', {}],
  // With it, the checklist is TodoWrite's; without it, the tasks are the checklist.
  ['todos', { CLAUDE_CODE_ENABLE_TASKS: '0' }],
  // By default it tries for three minutes.
  ['unauthorized', { CLAUDE_CODE_MAX_RETRIES: '1' }],
]

const scenes: Readonly<Record<string, Scene>> = Object.fromEntries([
  ...claudeVersions.flatMap((version) => [
    ...Object.entries(backgroundScenes).map(([name, play]): readonly [string, Scene] => [
      `claude-${version}-${name}`,
      {
        file: `claude/${version}/${name}.jsonl`,
        scenario: name,
        stage: async () => await claudeStage({}, version),
        source: claude,
        play,
      },
    ]),
    ...Object.entries(promptScenes)
      .filter(([, { versions = claudeVersions }]) => versions.includes(version))
      .map(([name, scene]): readonly [string, Scene] => [
        `claude-${version}-${name}`,
        {
          file: `claude/${version}/${name}.jsonl`,
          scenario: name,
          stage: async () => {
            const stage = await claudeStage({}, version)
            writeSceneFiles(scene, stage.directory)
            return stage
          },
          source: (options) => claude({ ...options, args: scene.args }),
          play: scene.play,
        },
      ]),
  ]),
  ...claudeScenes.map(([name, env]): readonly [string, Scene] => [
    `claude-${name}`,
    {
      file: `claude/${name}.jsonl`,
      scenario: name,
      stage: async () => await claudeStage(env),
      source: claude,
    },
  ]),
  ...codexVersions.flatMap((version) =>
    Object.entries(codexScenes).map(([name, { args = [], play }]): readonly [string, Scene] => [
      `codex-${version}-${name}`,
      {
        file: `codex/${version}/${name}.jsonl`,
        scenario: name,
        stage: async () => await codexStage(version),
        source: (options) => codex({ ...options, args: [...args], approvalPolicy: 'on-request', sandbox: 'read-only' }),
        play,
      },
    ]),
  ),
  ...codexVersions.map((version): readonly [string, Scene] => [
    `codex-${version}-earlier`,
    {
      file: `codex/${version}/earlier.jsonl`,
      scenario: 'earlier',
      stage: async () => await codexStage(version),
      source: codex,
      prepare: async (source, { directory, model }) => await makeEarlier(source, directory, model),
      play: async ({ source, directory, earlier }) =>
        earlier ? [(await findEarlier(source, directory, earlier)).cut] : [],
    },
  ]),
  [
    'codex-plan',
    {
      file: 'codex/plan.jsonl',
      scenario: 'plan',
      stage: async () => await codexStage(),
      // Codex 0.169.0 has its plan tool only with this setting.
      source: (options) => codex({ ...options, args: ['-c', 'tools.update_plan.enabled=true'] }),
    },
  ] satisfies readonly [string, Scene],
  [
    'codex-question',
    {
      file: 'codex/question.jsonl',
      scenario: 'ask',
      stage: async () => await codexStage(),
      source: (options) => codex({ ...options, args: [...askingArgs] }),
    },
  ] satisfies readonly [string, Scene],
  [
    'codex-delegate',
    {
      file: 'codex/delegate.jsonl',
      scenario: 'delegate',
      stage: async () => await codexStage(),
      source: (options) => codex({ ...options, approvalPolicy: 'on-request', sandbox: 'read-only' }),
    },
  ] satisfies readonly [string, Scene],
  [
    'codex-delegate-named',
    {
      file: 'codex/delegate-named.jsonl',
      scenario: 'delegate-named',
      stage: async () => await codexStage(),
      source: (options) => codex({ ...options, args: ['-c', 'features.multi_agent_v2=true'] }),
    },
  ] satisfies readonly [string, Scene],
])

/** Notifications of Codex that describe this computer. */
const aboutMachine = /"method":"(?:configWarning|remoteControl\/status\/changed)"/

/**
 * Sends the scenario's prompt, allows its permissions, and answers its questions with "Blue". Resolves with its reply.
 */
async function prompt(client: Client, scenario: string): Promise<readonly Reply[]> {
  const observer: ReplyObserver = {
    permissionAsked: ({ ask }) => void client.answer(ask, 'once'),
    questionAsked: ({ ask }) => void client.answer(ask, [['Blue']]),
  }
  return [await client.prompt({ text: `[scenario:${scenario}] Go.` }, { observe: () => [observer] }).result]
}

for (const [name, { file, scenario, stage, source, prepare, play }] of Object.entries(scenes)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const prepared = await stage()
  const { command, env, directory, home, model, close } = prepared
  const earlier = await prepare?.(source({ command, env, cwd: directory }), prepared)
  const folder = mkdtempSync(join(tmpdir(), 'reply-recorder-'))
  const { program, log } = recorderOf({ name: file.split('/')[0] ?? '', command, folder })
  const recorded = source({ command: program, env, cwd: directory })
  const { client: agent, posted } = connectScene(recorded)
  const replies = play
    ? await play({ client: agent, posted, directory, model, source: recorded, earlier })
    : await prompt(agent, scenario)
  await agent.close()
  const modelPort = Number(new URL(model.url).port)
  const text = redact(readFileSync(log, 'utf8'), { directory, home, root: folder, serverPort: 4096, modelPort })
    // Claude Code names folders after the user's id and the project's path, and a socket after its process.
    .replaceAll(directory.replaceAll('/', '-'), '-project')
    .replace(/\/tmp\/claude-\d+/g, '/tmp/claude')
    .replace(/\/tmp\/cc-socks\/\d+\.sock/g, '/tmp/cc-socks/1.sock')
  await close()
  await rm(folder, { recursive: true, force: true })
  // A second process lists models and commands into the same file.
  const all = text
    .trim()
    .split('\n')
    .filter((line) => !line.includes('"subtype":"initialize"') && !aboutMachine.test(line))
  // Codex begins with facts about this computer.
  const begin = all.findIndex((line) => line.includes('"turn/start"'))
  const kept = all.slice(Math.max(0, begin === -1 ? all.findIndex((line) => line.includes('"thread/list"')) : begin))
  const target = new URL(`../recordings/${file}`, import.meta.url)
  await mkdir(new URL('.', target), { recursive: true })
  await writeFile(target, `${kept.join('\n')}\n`)
  const ends = replies.map(({ outcome, error }) => `${outcome}${error ? `: ${error.message}` : ''}`)
  process.stdout.write(`${name}: ${kept.length} lines, ${ends.join(', ')}\n`)
}
