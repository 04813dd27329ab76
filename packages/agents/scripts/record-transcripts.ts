// Records the transcript that Claude Code writes of one session: `npx tsx packages/agents/scripts/record-transcripts.ts`.
// Keeps only the lines that a reply shows, because the others are copies of its instructions.
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { connectSource } from '@reply/core/source'
import { agentBinary, redact } from '@reply/testing/internal'
import { claude } from '../src/claude.ts'
import { claudeScripts } from '../test/claude/claude-stage.ts'
import { claudeEnv, startScripted } from '../test/scripted-stage.ts'

for (const version of ['2.1.197', '2.1.332']) {
  const command = await agentBinary('claude', version)
  const stage = await startScripted(claudeScripts)
  const { directory, home, model } = stage
  const env = { ...claudeEnv(stage), CLAUDE_CODE_MAX_RETRIES: '1' }
  const client = connectSource(claude({ command, cwd: directory, env }))
  const { sessionID } = await client.prompt({ text: '[scenario:plain] Begin.' }).result
  /** Sends a scenario's prompt to the session, and allows its permissions. */
  const prompt = (scenario: string) =>
    client.prompt(
      { text: `[scenario:${scenario}] Go.`, sessionID },
      { observe: () => [{ permissionAsked: ({ ask }) => void client.answer(ask, 'once') }] },
    )
  await prompt('delegate').result
  await prompt('tasks').result
  await prompt('background-command').result
  const woken = new Promise<void>((resolve) => {
    client.watch({ sessionID }, { observe: () => [{ replySettled: () => resolve() }] })
  })
  writeFileSync(join(directory, 'done.txt'), '')
  await model.held('woken')
  model.release('woken')
  await woken
  await prompt('unauthorized').result
  const endless = prompt('endless')
  await model.held('forever')
  await client.abort({ sessionID })
  await endless.result
  // Its process ends in the middle of the turn.
  const cut = prompt('permission-held')
  await model.held('cut')
  await client.close()
  const ends = [await endless.result, await cut.result].map(({ outcome }) => outcome)
  const projects = join(home, '.claude/projects')
  const port = Number(new URL(model.url).port)
  for (const path of filesIn(projects).filter((each) => /\.jsonl$|\.meta\.json$/.test(each))) {
    const lines = readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => path.endsWith('.json') || isKept(line))
    const text = redact(lines.join('\n'), { directory, home, root: directory, serverPort: 4096, modelPort: port })
      .replaceAll(directory.replaceAll('/', '-'), '-project')
      .replaceAll(/\/tmp\/claude-\d+/g, '/tmp/claude')
    const name = path
      .slice(projects.length + 1)
      .split('/')
      .slice(1)
      .join('/')
      .replaceAll(sessionID, 'session')
    const target = join(import.meta.dirname, `../recordings/claude/${version}/transcript/${name}`)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, `${text.trim()}\n`)
  }
  await stage.close()
  process.stdout.write(`${version}: ${ends.join(', ')}\n`)
}

/** Whether a reply shows a line. */
function isKept(line: string): boolean {
  return /"type":"(?:user|assistant|system)"/.test(line) && !/"type":"(?:attachment|api-request)/.test(line)
}

/** The paths of all files below a folder. */
function filesIn(folder: string): readonly string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    return statSync(path).isDirectory() ? filesIn(path) : [path]
  })
}
