import type { Goal } from '../goal.ts'
import { type Finding, longestFlushes, ratios, worstOf } from '../hostile/measure.ts'
import { type Path, paths } from '../hostile/paths.ts'

const small = 8192
const large = 102_400

/** Texts that models could write to keep a process busy. `hostile/table.ts` shows each of them. */
export const hostileGoals: readonly Goal[] = paths.flatMap((path): readonly Goal[] => [
  ratioGoal(path, small, '8k'),
  ratioGoal(path, large, '100k'),
  {
    id: `hostile.${path.id}.flush`,
    what: `longest flush while the worst pattern grows to 100 KB, ${path.id}`,
    unit: 'ms of CPU',
    bound: { atMost: 10 },
    measure: () => reportedValue(worstOf(longestFlushes(path, large))),
  },
])

/** The goal for the worst pattern of this length, against the plain text of the path or of its floor. */
function ratioGoal(path: Path, units: number, sizeLabel: string): Goal {
  return {
    id: `hostile.${path.id}.${sizeLabel}`,
    what: `splitting and rendering ${sizeLabel.toUpperCase()} of the worst pattern, ${path.id}, against plain text${path.floor ? `, ${path.floor.id}` : ''}`,
    unit: '× as long',
    // With a floor, the path's own plain text costs next to nothing, and reply writes and checks the markup of the rest.
    bound: { atMost: path.floor ? 8 : 5 },
    measure: () => reportedValue(worstOf(ratios(path, units))),
  }
}

/** Returns the value. The pattern's name goes to the progress output. */
function reportedValue({ id, value }: Finding): number {
  process.stderr.write(`(${id}) `)
  return value
}
