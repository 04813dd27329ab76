// Records agents that speak ACP against the scripted model: `npx tsx packages/agents/scripts/record-acp.ts [names]`, for
// example with the names `opencode-text` and `claude-subagent`. Without names it records all scenes.
import { mkdir, writeFile } from 'node:fs/promises'
import type { Reply } from '@reply/core'
import { redact } from '@reply/testing/internal'
import type { AcpOptions } from '../src/acp.ts'
import { launchClaude, launchCodex } from '../test/acp/adapter-stage.ts'
import { launchGemini } from '../test/acp/gemini-stage.ts'
import { launch, type Stage } from '../test/acp/launch.ts'
import { listAgain } from '../test/acp/list-again.ts'
import { loadCut } from '../test/acp/load-cut.ts'
import { play } from '../test/acp/play.ts'
import { claudeScenes, codexScenes, geminiScenes, type Scene, scenes } from '../test/acp/scenes.ts'
import { listedAgents, sessionAgents } from '../test/acp/session-agents.ts'
import { agentsOfV2 } from '../test/acp/v2/scenes.ts'

const names = process.argv.slice(2)

/**
 * Plays one scene, and stores the messages of both sides, redacted. Without a file, it only plays. `act` may call
 * `forget`, so that the messages before that are not stored.
 */
async function record(
  file: string | undefined,
  open: (onMessage: AcpOptions['onMessage']) => Promise<Stage>,
  act: (stage: Stage, forget: () => void) => Promise<readonly Reply[]>,
): Promise<void> {
  const lines: string[] = []
  const stage = await open((from, json) => {
    lines.push(JSON.stringify({ from, message: withoutSkills(JSON.parse(json)) }))
  })
  const replies = await act(stage, () => void lines.splice(0))
  const { directory, home, root, modelPort } = stage
  await stage.close()
  /** Replaces what differs from machine to machine. */
  const clean = (text: string): string =>
    redact(text, { directory, home, root, serverPort: 4096, modelPort })
      // Claude Code names folders after the user's id and the project's path.
      .replaceAll(directory.replaceAll('/', '-'), '-project')
      .replace(/\/tmp\/claude-\d+/g, '/tmp/claude')
  const text = clean(lines.map((line) => withTerminalText(line, clean)).join('\n'))
  if (file !== undefined) {
    const target = new URL(`../recordings/acp/${file}.jsonl`, import.meta.url)
    await mkdir(new URL('.', target), { recursive: true })
    await writeFile(target, `${text}\n`)
  }
  const outcomes = replies.map(({ outcome }) => outcome).join(', ')
  process.stdout.write(`${file ?? 'not stored'}: ${lines.length} messages, ${outcomes}\n`)
}

/** Returns a line with the output of its terminals changed, which version 2 of ACP encodes as base64. */
function withTerminalText(line: string, change: (text: string) => string): string {
  if (!line.includes('"sessionUpdate":"terminal_')) return line
  return line.replace(/"data":"([\w+/=]+)"/g, (_, data: string) => {
    const text = change(Buffer.from(data, 'base64').toString())
    return `"data":"${Buffer.from(text).toString('base64')}"`
  })
}

/**
 * Returns a message with only the name and description of its commands. Qwen Code also sends the texts of its skills.
 */
function withoutSkills(message: { readonly params?: { readonly update?: Readonly<Record<string, unknown>> } }): object {
  const { update } = message.params ?? {}
  if (!Array.isArray(update?.availableCommands)) return message
  const availableCommands = update.availableCommands.map(({ name, description }) => ({ name, description }))
  const sessionUpdate = 'available_commands_update'
  return { ...message, params: { ...message.params, update: { sessionUpdate, availableCommands } } }
}

/** Whether the command line names a scene, or names none. */
function isWanted(name: string): boolean {
  return names.length === 0 || names.includes(name)
}

/** Returns what plays a scene with one prompt. */
const acting =
  (scene: Scene) =>
  async ({ client }: Stage) => [await play(client, scene)]

for (const scene of scenes) {
  if (!isWanted(`opencode-${scene.name}`)) continue
  const file = scene.preset ? undefined : `opencode-1.18.33/${scene.name}`
  await record(file, (onMessage) => launch(scene, onMessage), acting(scene))
}
const others = [
  ['gemini', 'gemini-0.61.0', geminiScenes, launchGemini],
  ['claude', 'claude-agent-acp-0.101.0', claudeScenes, launchClaude],
  ['codex', 'codex-acp-2.6.0', codexScenes, launchCodex],
] as const
for (const [agent, folder, played, open] of others)
  for (const scene of played) {
    if (!isWanted(`${agent}-${scene.name}`)) continue
    await record(`${folder}/${scene.name}`, (onMessage) => open(scene.scenario, onMessage), acting(scene))
  }
for (const { agent, folder, mode, version, scenes: played, launch: open } of sessionAgents)
  for (const scene of played) {
    if (!isWanted(`${agent}-${scene.name}`)) continue
    await record(
      `${folder}-${version}/${scene.name}`,
      (onMessage) => open('text', onMessage, version),
      async (stage) => await scene.play(stage, mode),
    )
  }
for (const { agent, folder, mode, version, scenes: played, launch: open } of agentsOfV2)
  for (const scene of played) {
    if (!isWanted(`${agent}-v2-${scene.name}`)) continue
    await record(
      `${folder}-${version}-v2/${scene.name}`,
      (onMessage) => open('text', onMessage, version, 2),
      async (stage) => await scene.play(stage, mode),
    )
  }
for (const { agent, folder, mode, version, launch: open } of sessionAgents) {
  if (!isWanted(`${agent}-loaded`)) continue
  await record(
    `${folder}-${version}/loaded`,
    (onMessage) => open('text', onMessage, version),
    async (stage, forget) => [await loadCut(stage, mode, forget)],
  )
}
for (const { agent, folder, mode, version, launch: open } of listedAgents) {
  if (!isWanted(`${agent}-listed`)) continue
  await record(
    `${folder}-${version}/listed`,
    (onMessage) => open('text', onMessage, version),
    async (stage, forget) => {
      await listAgain(stage, mode, forget)
      return []
    },
  )
}
