import { askDrivers } from './asks.ts'
import { begin, type Driver, type Drivers } from './driver.ts'
import { endDrivers } from './ends.ts'
import { secondDrivers } from './second.ts'
import { turnDrivers } from './turns.ts'

/** One prompt that runs to its end undisturbed. */
const whole: Driver = async (kit) => {
  await kit.idle(await begin(kit))
}

const drivers: Drivers = { ...askDrivers, ...endDrivers, ...turnDrivers, ...secondDrivers }

/** Who plays the person in a scenario. */
export const driverFor = (scenario: string): Driver => drivers[scenario] ?? whole
