// flame_data
