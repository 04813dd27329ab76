/** How one scene, or one clause of the contract, ended. */
export type Result =
  | { readonly name: string; readonly outcome: 'holds' }
  | { readonly name: string; readonly outcome: 'fails'; readonly reason: string }
  | { readonly name: string; readonly outcome: 'not offered'; readonly reason: string }

/** What a run found out about one agent. */
export type AgentRun =
  | {
      readonly type: 'not fetched'
      readonly agent: string
      /** The newest version. Absent if npm did not name it. */
      readonly version?: string | undefined
      readonly reason: string
    }
  | {
      readonly type: 'played'
      readonly agent: string
      readonly version: string
      readonly scenes: readonly Result[]
      /** The clauses of `sourceContract`. */
      readonly clauses: readonly Result[]
      /** Shapes that no earlier run had. */
      readonly newShapes: readonly string[]
    }

/** An agent's row in the table: its last run, and when it was last green. */
export interface Row {
  readonly agent: string
  readonly version: string
  /** The day of the run, for example `2026-11-25`. */
  readonly date: string
  /** How many scenes hold. */
  readonly holding: number
  /** How many clauses hold, and how many there are. */
  readonly clauses: readonly [number, number]
  /** Scenes and clauses that fail, and did not in an earlier run. They stay here until they hold again. */
  readonly broken: readonly string[]
  /** Scenes and clauses that fail, and never held. */
  readonly failing: readonly string[]
  /** Scenes that the agent doesn't offer, with the reason. */
  readonly notOffered: readonly (readonly [string, string])[]
  /** How many shapes were new in this run. */
  readonly newShapes: number
  /** The version and the day of the last run that broke nothing. Absent if there was none. */
  readonly green?: readonly [string, string] | undefined
}

/** The table of `docs/agents.md`. */
export interface Table {
  /** The names of all scenes. */
  readonly scenes: readonly string[]
  readonly rows: readonly Row[]
}

/** The new table, and how serious it is. */
export interface Verdict {
  readonly color: 'green' | 'yellow' | 'red'
  /** What makes it red or yellow, one sentence each. */
  readonly reasons: readonly string[]
  readonly table: Table
}

/** After this many days without a green run, a new version of an agent is red. */
export const maxDaysBehind = 14

/**
 * Returns the new table and the verdict for a run on the day `today`. Agents that did not run keep their rows.
 * `scenes` are the names of all scenes now.
 */
export function judge(before: Table, runs: readonly AgentRun[], scenes: readonly string[], today: string): Verdict {
  const rows = new Map(before.rows.map((row) => [row.agent, row]))
  const red: string[] = []
  const yellow: string[] = []
  for (const run of runs) {
    const last = rows.get(run.agent)
    if (run.type === 'not fetched') red.push(`${run.agent} was not fetched: ${run.reason}`)
    else {
      const row = rowOf(run, last, before.scenes, today)
      rows.set(run.agent, row)
      red.push(...row.broken.map((name) => `${run.agent} ${run.version} fails, and did not before: ${name}.`))
      // A clause that an agent may lack never fails. Only the count shows that it no longer holds.
      if (last && row.clauses[0] < last.clauses[0])
        red.push(`${run.agent} ${run.version} fulfills ${row.clauses[0]} clauses, and fulfilled ${last.clauses[0]}.`)
      const offered = row.notOffered.filter(([name]) => before.scenes.includes(name) && last && !isOut(last, name))
      yellow.push(...offered.map(([name]) => `${run.agent} ${run.version} no longer offers: ${name}.`))
      if (row.newShapes > 0) yellow.push(`${run.agent} ${run.version} has new shapes: ${run.newShapes.join(', ')}.`)
    }
    const late = daysBehind(rows.get(run.agent), run.version, today)
    if (late > maxDaysBehind)
      red.push(`${run.agent} ${run.version} is new, and the last green run was ${late} days ago.`)
  }
  const color = red.length > 0 ? 'red' : yellow.length > 0 ? 'yellow' : 'green'
  return { color, reasons: [...red, ...yellow], table: { scenes, rows: [...rows.values()] } }
}

/** Returns the row of an agent that played. */
function rowOf(
  { agent, version, scenes, clauses, newShapes }: AgentRun & { readonly type: 'played' },
  last: Row | undefined,
  knownScenes: readonly string[],
  date: string,
): Row {
  const held = (name: string): boolean => {
    if (!last || isOut(last, name)) return false
    return last.broken.includes(name) || knownScenes.includes(name) || clauses.some((clause) => clause.name === name)
  }
  const failed = [...scenes, ...clauses].filter(({ outcome }) => outcome === 'fails').map(({ name }) => name)
  const broken = failed.filter(held)
  return {
    agent,
    version,
    date,
    holding: scenes.filter(({ outcome }) => outcome === 'holds').length,
    clauses: [clauses.filter(({ outcome }) => outcome === 'holds').length, clauses.length],
    broken,
    failing: failed.filter((name) => !broken.includes(name)),
    notOffered: scenes.flatMap((each): [string, string][] =>
      each.outcome === 'not offered' ? [[each.name, each.reason]] : [],
    ),
    newShapes: newShapes.length,
    green: broken.length === 0 ? [version, date] : last?.green,
  }
}

/** Whether a scene or clause failed in that run without having held before, or was not offered. */
function isOut({ failing, notOffered }: Row, name: string): boolean {
  return failing.includes(name) || notOffered.some(([known]) => known === name)
}

/** Returns how many days the last green run is ago, if it was of another version. Otherwise 0. */
function daysBehind(row: Row | undefined, newest: string | undefined, today: string): number {
  if (!row?.green || row.green[0] === newest) return 0
  return (Date.parse(today) - Date.parse(row.green[1])) / 86_400_000
}
