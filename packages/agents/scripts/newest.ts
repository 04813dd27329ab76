// Plays the scenes and the contract of sources on the newest version of each agent, and writes the table in
// docs/agents.md and the shapes of their lines: `npm run agents:newest`. Exits with 1 if the verdict is red. Needs Linux.
// `npm run agents:newest -- "Codex" "Kilo"` plays these agents alone, and the others keep their rows. With `--scenes
// "text" "image in"` at the end, it plays these scenes and writes nothing.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { NewestAgent } from '../test/newest/agent.ts'
import { newestAgents } from '../test/newest/agents.ts'
import { playAgent } from '../test/newest/play.ts'
import { newestScenes } from '../test/newest/scenes.ts'
import { joinedShapes, newShapes, type Shapes, shapesJson } from '../test/newest/shapes.ts'
import { tableIn, withTable } from '../test/newest/table.ts'
import { type AgentRun, judge } from '../test/newest/verdict.ts'

const page = new URL('../../../docs/agents.md', import.meta.url)
const deadlines = { sceneMs: 25_000, agentMs: 240_000 }

/** Where the known shapes of an agent are, for example `recordings/shapes/claude-code.json`. */
function shapesFile({ name }: NewestAgent): URL {
  return new URL(`../recordings/shapes/${name.toLowerCase().replaceAll(' ', '-')}.json`, import.meta.url)
}

/** The known shapes of an agent. Undefined before its first run. */
function knownShapes(agent: NewestAgent): Shapes | undefined {
  const file = shapesFile(agent)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}

/** Prints a line. */
function printLine(text: string): void {
  process.stdout.write(`${text}\n`)
}

/**
 * Fetches the newest version of an agent, plays it, and prints what doesn't hold. Resolves with `not fetched` if that
 * fails. Plays all scenes if `only` is empty, and then also stores the agent's shapes with its new ones.
 */
async function run(agent: NewestAgent, only: readonly string[]): Promise<AgentRun> {
  const { name } = agent
  const begun = Date.now()
  let version: string | undefined
  try {
    version = await agent.newest()
    await agent.fetch(version)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { type: 'not fetched', agent: name, version, reason }
  }
  const { scenes, clauses, shapes } = await playAgent(agent, version, deadlines, only)
  for (const each of [...scenes, ...clauses.filter(({ outcome }) => outcome === 'fails')])
    if (each.outcome !== 'holds')
      printLine(`${name} ${version}, ${each.name}: ${each.outcome}: ${each.reason.slice(0, 1000)}`)
  const holding = scenes.filter(({ outcome }) => outcome === 'holds').length
  printLine(
    `${name} ${version}: ${holding} of ${scenes.length} scenes, ${clauses.filter(({ outcome }) => outcome === 'holds').length} of ${clauses.length} clauses, in ${Math.round((Date.now() - begun) / 1000)} s`,
  )
  const known = knownShapes(agent)
  if (only.length === 0) writeFileSync(shapesFile(agent), shapesJson(joinedShapes(known ?? {}, shapes)))
  // The first run has nothing to compare with.
  return { type: 'played', agent: name, version, scenes, clauses, newShapes: known ? newShapes(known, shapes) : [] }
}

// An agent that fails in an unforeseen way must not end the run of the others.
process.on('unhandledRejection', (error) =>
  printLine(`Unhandled: ${error instanceof Error ? error.stack : String(error)}`),
)

const given = process.argv.slice(2)
const at = given.indexOf('--scenes')
const chosen = at < 0 ? given : given.slice(0, at)
const only = at < 0 ? [] : given.slice(at + 1)
const unknown = [
  ...chosen.filter((name) => newestAgents.every((agent) => agent.name !== name)),
  ...only.filter((name) => !(name in newestScenes)),
]
if (unknown.length > 0) {
  const names = newestAgents.map(({ name }) => `"${name}"`).join(', ')
  process.stderr.write(`There is no "${unknown.join('", "')}". Give agents (${names}), and scenes after --scenes.\n`)
  process.exit(2)
}

const before = readFileSync(page, 'utf8')
const today = new Date().toISOString().slice(0, 10)
const runs: AgentRun[] = []
for (const agent of newestAgents) {
  if (chosen.length > 0 && !chosen.includes(agent.name)) continue
  runs.push(await run(agent, only))
  // After each agent, so that a run that is killed keeps the rows so far.
  if (only.length === 0) writeFileSync(page, withTable(before, verdict().table))
}
if (only.length === 0) {
  const { color, reasons } = verdict()
  for (const reason of reasons) printLine(reason)
  printLine(`The newest agents are ${color}.`)
  process.exitCode = color === 'red' ? 1 : 0
}

/** The verdict on the runs so far, beside the rows of the other agents. */
function verdict(): ReturnType<typeof judge> {
  return judge(tableIn(before), runs, Object.keys(newestScenes), today)
}
