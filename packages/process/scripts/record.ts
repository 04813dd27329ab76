// Records the agents against the scripted model: `npx tsx packages/process/scripts/record.ts [names]`, such as
// `claude-tasks` or `gemini-tool`; without names, all that it knows.
import { mkdtempSync, readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectSource, type Source } from '@reply/core/source'
import { agentBinary, redact } from '@reply/testing'
import { claude, codex } from '../src/index.ts'
import { claudeScripts } from '../test/claude-stage.ts'
import { askingArgs, codexScripts } from '../test/codex-stage.ts'
import { oneWayAgents, type PreparedOneWay } from '../test/one-way-stage.ts'
import { recorderOf } from '../test/recorder.ts'
import { claudeEnv, codexEnv, codexFiles, startScripted } from '../test/scripted-stage.ts'

const wanted = process.argv.slice(2)

interface Scene {
  /** The file below `test/recorded`. */
  readonly file: string
  readonly scenario: string
  readonly stage: () => Promise<PreparedOneWay>
  readonly source: (options: Pick<PreparedOneWay, 'command' | 'env'> & { readonly cwd: string }) => Source
  /** One-way recordings have the lines of the program alone. */
  readonly isOneWay: boolean
}

async function claudeStage(env: Readonly<Record<string, string>>): Promise<PreparedOneWay> {
  const command = await agentBinary('claude')
  const stage = await startScripted(claudeScripts)
  return { ...stage, command, env: { ...claudeEnv(stage), ...env } }
}

async function codexStage(): Promise<PreparedOneWay> {
  const command = await agentBinary('codex')
  const stage = await startScripted(codexScripts, codexFiles)
  return { ...stage, command, env: codexEnv(stage) }
}

/** By scenario, with what is added to the environment. */
const claudeScenes: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['tasks', {}],
  ['shared-tasks', {}],
  // With it, the checklist is TodoWrite's; without it, the tasks are the checklist.
  ['todos', { CLAUDE_CODE_ENABLE_TASKS: '0' }],
  // By default it tries for three minutes.
  ['unauthorized', { CLAUDE_CODE_MAX_RETRIES: '1' }],
]

const scenes: Readonly<Record<string, Scene>> = Object.fromEntries([
  ...claudeScenes.map(([name, env]): readonly [string, Scene] => [
    `claude-${name}`,
    {
      file: `claude/${name}.jsonl`,
      scenario: name,
      stage: async () => await claudeStage(env),
      source: claude,
      isOneWay: false,
    },
  ]),
  [
    'codex-plan',
    {
      file: 'codex/plan.jsonl',
      scenario: 'plan',
      stage: codexStage,
      // Codex 0.169.0 has its plan tool only with this setting.
      source: (options) => codex({ ...options, args: ['-c', 'tools.update_plan.enabled=true'] }),
      isOneWay: false,
    },
  ] satisfies readonly [string, Scene],
  [
    'codex-question',
    {
      file: 'codex/question.jsonl',
      scenario: 'ask',
      stage: codexStage,
      source: (options) => codex({ ...options, args: [...askingArgs] }),
      isOneWay: false,
    },
  ] satisfies readonly [string, Scene],
  [
    'codex-delegate',
    {
      file: 'codex/delegate.jsonl',
      scenario: 'delegate',
      stage: codexStage,
      source: (options) => codex({ ...options, approvalPolicy: 'on-request', sandbox: 'read-only' }),
      isOneWay: false,
    },
  ] satisfies readonly [string, Scene],
  [
    'codex-delegate-named',
    {
      file: 'codex/delegate-named.jsonl',
      scenario: 'delegate-named',
      stage: codexStage,
      source: (options) => codex({ ...options, args: ['-c', 'features.multi_agent_v2=true'] }),
      isOneWay: false,
    },
  ] satisfies readonly [string, Scene],
  ...(['codex', 'gemini', 'opencode'] as const).flatMap((agent) =>
    [['text', 'plain'] as const, ['tool', 'tool'] as const, ['error', 'error'] as const].map(
      ([name, scenario]): readonly [string, Scene] => {
        const { prepare: stage, source } = oneWayAgents[agent]
        return [`${agent}-${name}`, { file: `one-way/${agent}-${name}.jsonl`, scenario, stage, source, isOneWay: true }]
      },
    ),
  ),
])

for (const [name, { file, scenario, stage, source, isOneWay }] of Object.entries(scenes)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const { command, env, directory, home, model, close } = await stage()
  const folder = mkdtempSync(join(tmpdir(), 'reply-recorder-'))
  const { program, log } = recorderOf({ name: file.split('/')[0] ?? '', command, folder })
  const agent = connectSource(source({ command: program, env, cwd: directory }))
  const reply = await agent.prompt(
    { text: `[scenario:${scenario}] Go.` },
    {
      observe: () => [
        {
          permissionAsked: ({ ask }) => void agent.answer(ask, 'once'),
          questionAsked: ({ ask }) => void agent.answer(ask, [['Blue']]),
        },
      ],
    },
  ).result
  await agent.close()
  const modelPort = Number(new URL(model.url).port)
  const text = redact(readFileSync(log, 'utf8'), { directory, home, root: folder, serverPort: 4096, modelPort })
    // Claude Code names folders after the project's path.
    .replaceAll(directory.replaceAll('/', '-'), '-project')
  await close()
  await rm(folder, { recursive: true, force: true })
  const all = text.trim().split('\n')
  // Codex begins with what it says of the machine.
  const lines = all.slice(
    Math.max(
      0,
      all.findIndex((line) => line.includes('"turn/start"')),
    ),
  )
  const kept = isOneWay ? lines.map((line) => JSON.stringify(JSON.parse(line).line)) : lines
  await writeFile(new URL(`../test/recorded/${file}`, import.meta.url), `${kept.join('\n')}\n`)
  process.stdout.write(
    `${name}: ${kept.length} lines, ${reply.outcome}${reply.error ? `: ${reply.error.message}` : ''}\n`,
  )
}
