/** One thing that every implementation of a port must do, to run with any test runner. */
export interface Clause {
  /** With the implementation's name, and the reason if it is skipped. */
  readonly name: string
  /** Rejects with an `Error` that says what is wrong. A skipped clause rejects when the skip is not needed. */
  run(): Promise<void>
}

/** What a contract demands of a stage, on which an implementation was set up. */
export interface Demand<Stage> {
  /** Also used to skip it. */
  readonly name: string
  /** Whether the stage has what the clause needs. Default: it has. */
  readonly needs?: ((stage: Stage) => boolean | Promise<boolean>) | undefined
  /** Rejects with an `Error` that says what is wrong. */
  readonly run: (stage: Stage) => Promise<void>
}

/** The implementation to test, and what it can't do. */
export interface ContractOptions<Stage, Name extends string> {
  /** The implementation's name. */
  readonly name: string
  /** Sets up a fresh implementation. Called once for each clause. */
  readonly setup: () => Stage | Promise<Stage>
  /** Clauses that do not hold for this implementation, each with a reason. A clause that does hold cannot be skipped. */
  readonly skip?: Partial<Readonly<Record<Name, string>>> | undefined
}

/** Makes the clauses of a contract. Throws for a skip without a reason, or with an unknown clause name. */
export function clausesOf<Stage extends { close(): Promise<void> }, Name extends string>(
  demands: readonly Demand<Stage>[],
  { name, setup, skip = {} }: ContractOptions<Stage, Name>,
): readonly Clause[] {
  const reasons = new Map(Object.entries<string | undefined>(skip))
  for (const [clause, reason = ''] of reasons) {
    if (!demands.some((demand) => demand.name === clause)) throw new Error(`Unknown clause to skip: "${clause}".`)
    if (reason.trim() === '') throw new Error(`The clause "${clause}" is skipped without a reason: give one.`)
  }
  return demands.map((demand) => {
    const reason = reasons.get(demand.name)
    if (reason === undefined) return { name: `${name} ${demand.name}`, run: () => onStage(setup, demand, hold) }
    return { name: `${name} skips "${demand.name}": ${reason}`, run: () => onStage(setup, demand, lack) }
  })
}

async function onStage<Stage extends { close(): Promise<void> }>(
  setup: () => Stage | Promise<Stage>,
  demand: Demand<Stage>,
  check: (demand: Demand<Stage>, stage: Stage) => Promise<void>,
): Promise<void> {
  const stage = await setup()
  try {
    await check(demand, stage)
  } finally {
    await stage.close()
  }
}

async function hold<Stage>(demand: Demand<Stage>, stage: Stage): Promise<void> {
  if (demand.needs && !(await demand.needs(stage)))
    throw new Error('The stage lacks what this clause needs: skip the clause and give a reason.')
  await demand.run(stage)
}

/** Checks that a skip is needed: the stage lacks what the clause needs, or the clause fails. */
async function lack<Stage>(demand: Demand<Stage>, stage: Stage): Promise<void> {
  if (demand.needs && !(await demand.needs(stage))) return
  const holds = await demand.run(stage).then(
    () => true,
    () => false,
  )
  if (holds) throw new Error('The clause holds, so it must not be skipped.')
}
