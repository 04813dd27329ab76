import { asking } from './contract/asks.ts'
import { faults } from './contract/faults.ts'
import type { Demand, Stage } from './contract/stage.ts'
import { typed } from './contract/typed.ts'
import { verbs } from './contract/verbs.ts'
import { whole } from './contract/whole.ts'

const demands = [...verbs, ...faults, ...whole, ...typed, ...asking] as const

/** The name of a clause, also used to skip it. */
export type ClauseName = (typeof demands)[number]['name']

/** One thing that every channel must do, to run with any test runner. */
export interface Clause {
  /** With the channel's name, and the reason if it is skipped. */
  readonly name: string
  /** Rejects with an `Error` that says what is wrong. A skipped clause rejects when the skip is not needed. */
  run(): Promise<void>
}

/** The channel to test, and what it can't do. */
export interface ContractOptions {
  /** The channel's name. */
  readonly name: string
  /** Creates a port on its fake platform, with an empty chat. Called once for each clause. */
  readonly setup: () => Stage | Promise<Stage>
  /** Clauses that do not hold for this channel, each with a reason. A clause that does hold cannot be skipped. */
  readonly skip?: Partial<Readonly<Record<ClauseName, string>>> | undefined
}

/** The contract of every channel. Throws for a skip without a reason, or with an unknown clause name. */
export function portContract({ name, setup, skip = {} }: ContractOptions): readonly Clause[] {
  const reasons = new Map(Object.entries(skip))
  for (const [clause, reason] of reasons) {
    if (!demands.some((demand) => demand.name === clause)) throw new Error(`Unknown clause to skip: "${clause}".`)
    if (reason.trim() === '') throw new Error(`The clause "${clause}" is skipped without a reason: give one.`)
  }
  return demands.map((demand: Demand) => {
    const reason = reasons.get(demand.name)
    if (reason === undefined) return { name: `${name} ${demand.name}`, run: () => onStage(setup, demand, hold) }
    return { name: `${name} skips "${demand.name}": ${reason}`, run: () => onStage(setup, demand, lack) }
  })
}

async function onStage(
  setup: ContractOptions['setup'],
  demand: Demand,
  check: (demand: Demand, stage: Stage) => Promise<void>,
): Promise<void> {
  const stage = await setup()
  try {
    await check(demand, stage)
  } finally {
    await stage.close()
  }
}

async function hold(demand: Demand, stage: Stage): Promise<void> {
  if (demand.needs && !demand.needs(stage))
    throw new Error('The port lacks a capability that this clause needs: skip the clause and give a reason.')
  await demand.run(stage)
}

/** Checks that a skip is needed: the platform lacks what the clause needs, or the clause fails. */
async function lack(demand: Demand, stage: Stage): Promise<void> {
  if (demand.needs) {
    if (demand.needs(stage))
      throw new Error('The port has every capability that this clause needs, so the clause cannot be skipped.')
    return
  }
  const holds = await demand.run(stage).then(
    () => true,
    () => false,
  )
  if (holds) throw new Error('The clause holds, so it must not be skipped.')
}
